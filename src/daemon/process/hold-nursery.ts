// While a store is read at a start, most of what is made becomes garbage at once, and a young generation that grows for it takes memory
// that nothing needs afterwards. In: nothing. Out: a function that lets it grow again.
import { setFlagsFromString } from 'node:v8';

/** V8 doubles the young generation when much of it survives. This is its own default. */
const growthFactor = 2;

export function holdNursery(): () => void {
  setFlagsFromString('--semi-space-growth-factor=1');
  return () => setFlagsFromString(`--semi-space-growth-factor=${growthFactor}`);
}
