// Runs a script of a checkout under the Node that Hostward needs: `node src/launcher/with-node.mjs SCRIPT WORDS…`. npm scripts
// and .ci/run use it, because npm before 11 deletes `node_modules/.bin/node` when packages for several platforms offer it.
import { fileURLToPath } from 'node:url';
import { chooseHere, fail, handOver, isInstalled } from './launch.mjs';

const choice = chooseHere(import.meta.url);
if (!isInstalled(fileURLToPath(new URL('../..', import.meta.url))))
  fail('its dependencies are not installed: run npm ci');
else if (choice.kind === 'none') fail(choice.sentence);
else handOver(choice.kind === 'this' ? process.execPath : choice.program, process.argv.slice(2));
