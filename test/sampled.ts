// How much of a long search for a counterexample `npm cit` makes: a third, on other values each time. `.ci/run` and `.ci/proof` make the whole.

const isWhole = process.env['HOSTWARD_WHOLE_RUNS'] === '1';

/** Of so many runs, and never fewer than two. */
export function sampled(runs: number): number {
  return isWhole ? runs : Math.max(2, Math.ceil(runs / 3));
}
