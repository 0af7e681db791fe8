// readme-commands.mjs README: runs the commands of a README in this folder, where the package is installed and nothing else. Of
// commands that want a cluster, a checkout or a second terminal it says that it left them out. Plain JavaScript: it runs under any Node.
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { env, exit, stdout } from 'node:process';

const readme = process.argv[2];
const text = readFileSync(readme, 'utf8');
/** They end by themselves and ask no cluster. */
const alone =
  /^npx (?:--no-install )?hostward (?:check|render|eval|test|docs|version|schema|install|completion|demo --once)\b/;

// What the README shows as a file, and the sample that it links to.
for (const [, name, content] of text.matchAll(/```yaml\n# ([\w-]+\.yaml)\n([\s\S]*?)```/g))
  writeFileSync(name, content);
cpSync(join(dirname(readme), 'config', 'vcluster.yaml'), 'vcluster.yaml');
env.VCLUSTER_NAME = 'my-vcluster';
env.NAMESPACE = 'vcluster-my-vcluster';

const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) =>
  block.replace(/\\\n\s*/g, '').split('\n'),
);
// In a checkout npm runs the demo; in a package the command does.
const lines = blocks.map((line) =>
  line
    .replace(/ # .*$/, '')
    .trim()
    .replace(/^npm run demo -- --once$/, 'npx hostward demo --once'),
);
const isRun = (line) => alone.test(line) && !/[|>]/.test(line);
let ran = 0;
for (const line of lines.filter((one) => one !== '')) {
  if (!isRun(line)) {
    stdout.write(`left out: ${line}\n`);
    continue;
  }
  execFileSync('sh', ['-c', line], { stdio: ['ignore', 'ignore', 'inherit'] });
  stdout.write(`ran: ${line}\n`);
  ran += 1;
}
if (!lines.some((line) => isRun(line) && line.includes('demo'))) {
  execFileSync('npx', ['--no-install', 'hostward', 'demo', '--once'], { stdio: ['ignore', 'ignore', 'inherit'] });
  stdout.write('ran: npx hostward demo --once\n');
}
if (ran === 0) exit(1);
