import { describe, expect, it } from 'vitest';
import { countOf, formatFault, listedFaults } from '../../src/config/fault.ts';
import { loadSteps } from '../../src/config/load/load.ts';
import { runAtOnce, runInTurns, turnMs } from '../../src/config/steps.ts';
import { maxFileBytes } from '../../src/config/yaml/source-text.ts';
import { patchSteps } from '../../src/daemon/options/load-patches.ts';
import { processorMs } from '../own-time.ts';
import { named } from './loading.ts';
import { nastyFiles } from './nasty-files.ts';

function* judged(text: string) {
  return yield* patchSteps(yield* loadSteps({ files: [{ name: 'f.yaml', text }], environment: named }));
}

/** Far more than a linear loader needs, and far less than a quadratic one would need. */
const generousMs = 5_000;
/** A ninth of the limit in `.ci/run`; `bench/configuration.bench.ts` takes files of the whole limit. */
const ofTheLimit = maxFileBytes / Number(process.env['HOSTWARD_NASTY_SHARE'] ?? 54);
/** A sentence may quote a path, an expression or a rewritten program, but not a file. */
const longestSentence = 10_000;

describe('no configuration blocks the daemon', () => {
  it.each(nastyFiles)('$name', ({ text }) => {
    const began = processorMs();
    const loaded = runAtOnce(judged(text(ofTheLimit)));
    const faults = loaded.kind === 'faults' ? loaded.faults : [];
    for (const list of [faults, loaded.warnings]) {
      expect(list.length).toBeLessThanOrEqual(listedFaults + 1);
      for (const one of list) expect(formatFault(one, loaded.texts).length).toBeLessThan(longestSentence);
    }
    expect(processorMs() - began).toBeLessThan(generousMs);
  });

  it.each([
    ['many patches', 100],
    ['expressions of unknown names', 100],
    ['expressions in blocks of many lines', 100],
    ['unknown keys at the top', 100],
  ])('gives the loop back again and again: %s', async (name, turns) => {
    const file = nastyFiles.find((one) => one.name === name);
    if (file === undefined) throw new Error(`no file is called ${name}`);
    // The clock reports the end of a turn at each reading, so that every part is a turn.
    let now = 0;
    const clock = { now: () => (now += turnMs) };
    let taken = 0;
    const turn = async () => void taken++;
    await runInTurns(judged(file.text(maxFileBytes)), { clock, turn });
    expect(taken).toBeGreaterThan(turns);
  });

  it('counts the unlisted faults', () => {
    const many = '          nope +\n'.repeat(50);
    const entry = (at: number) => `      - path: metadata.labels.k${at}\n        expression: |\n${many}          1\n`;
    const entries = Array.from({ length: 90 }, (_, at) => entry(at)).join('');
    const loaded = runAtOnce(judged(`sync:\n  toHost:\n    endpoints:\n      patches:\n${entries}`));
    const faults = loaded.kind === 'faults' ? loaded.faults : [];
    expect([faults.length, countOf(faults)]).toEqual([listedFaults + 1, 90 * 50]);
    expect(formatFault(faults.at(-1) as never)).toBe('and 4,400 more faults');
  });
});
