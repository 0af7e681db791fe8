// The first code of a process that serves, long before its program is loaded. In: the program's file and its words. A SIGHUP ends a
// process that does not take it, and whoever has just written a configuration sends one, also right after a start.
import { pathToFileURL } from 'node:url';

// Puts the program where Node would put it, so that it finds its words at the same index.
process.argv.splice(1, 1);
const entry = process.argv[1];
const isReloaded = process.argv[2] === 'run';

/** Pause between two looks whether the program takes the signal by now. */
const lookMs = 100;
let isHeld = false;

process.on('SIGHUP', hold);

function hold() {
  if (!isReloaded || isHeld || process.listenerCount('SIGHUP') > 1) return;
  isHeld = true;
  const again = () => {
    isHeld = false;
    process.emit('SIGHUP', 'SIGHUP');
  };
  setTimeout(again, lookMs).unref();
}

await import(pathToFileURL(entry).href);
