// A run does not pass for having done nothing, and goes on where it was stopped.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { PlacedFault } from '../faults/placed.ts';
import { cells } from '../play/schedule.ts';
import { sightNames } from '../traffic/sights.ts';
import { MistakeReport, ReportFile } from './report-file.ts';
import { Tally } from './tally.ts';

describe('the report', () => {
  const firsts = cells.filter(({ recipe }, at) => cells.findIndex((one) => one.recipe.class === recipe.class) === at);
  const line = (seed: number, reached: boolean) => {
    const hard = { nth: 1, times: 1, ms: 0, size: 1 };
    const faults = firsts.map(({ recipe, side, verb }) => ({
      class: recipe.class,
      recipe: recipe.name,
      side,
      verb,
      ...hard,
    }));
    return {
      seed,
      placed: faults,
      struck: reached ? faults : [],
      violations: [],
      sights: reached ? sightNames : [],
      requests: 1,
      virtualMs: 1,
      cpuMs: 1,
    };
  };

  it('names the classes that a run of many seeds has not reached', () => {
    const [idle, busy] = [new Tally(), new Tally()];
    for (let seed = 0; seed < 250; seed++) {
      idle.add(line(seed, false));
      busy.add(line(seed, true));
    }
    expect(idle.missed()).toEqual(expect.arrayContaining(['F1', 'an import behind a slice']));
    expect(busy.missed()).toEqual([]);
  });

  it('names the pairs of classes that a whole plan of seeds has not placed', () => {
    const [half, whole, full] = [new Tally(), new Tally(), new Tally()];
    const none = { placed: [], struck: [] };
    for (let seed = 0; seed < 500; seed++) {
      if (seed < 499) half.add({ ...line(seed, true), ...none });
      whole.add({ ...line(seed, true), ...none });
      full.add({ ...line(seed, true), ...(seed > 0 && none) });
    }
    expect([half.pairFaults(), full.pairFaults()]).toEqual([[], []]);
    expect(whole.pairFaults()).toContain('F1 F2: no seed has placed this pair');
  });

  it('says of a pair that was not met which fault had nothing to strike, and fails when too many were not', () => {
    const tally = new Tally();
    const [one, other] = firsts.slice(0, 2).map(({ recipe, side, verb }) => {
      return { class: recipe.class, recipe: recipe.name, side, verb, nth: 1, times: 1, ms: 0, size: 1 };
    }) as [PlacedFault, PlacedFault];
    for (let seed = 0; seed < 500; seed++) tally.add({ ...line(seed, false), placed: [one, other], struck: [one] });
    const why = `${other.recipe} (${other.side} ${other.verb}) 500`;
    expect(tally.pairLines()).toContain(
      `${one.class}+${other.class}: placed 500 times, and these found nothing to strike: ${why}`,
    );
    expect(tally.fewPairs).toMatch(/^0 of \d+ pairs of classes were met, wanted \d+$/);
  });

  describe('in a file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-rig-report-'));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));
    const head = { commit: 'abc', from: 0, seeds: 3 };
    const opened = (name: string, given = head): ReportFile => {
      const file = new ReportFile(join(folder, name));
      file.open(given);
      return file;
    };

    it('goes on behind the last whole line', () => {
      opened('cut').add(line(0, true));
      const path = join(folder, 'cut');
      writeFileSync(path, `${readFileSync(path, 'utf8')}{"seed":1,"pla`);
      const again = opened('cut');
      expect([...again.done.keys()]).toEqual([0]);
      expect(again.note).toContain('its last line was cut off');
      again.add(line(1, true));
      expect([...opened('cut').done.keys()]).toEqual([0, 1]);
    });

    it.each([
      [{ ...head, commit: 'def' }, 'it is of commit abc, and this is def'],
      [{ ...head, seeds: 4 }, 'it is of the seeds 0 to 2'],
    ])('of something else is refused in one sentence: %j', (given, sentence) => {
      opened('other');
      expect(() => opened('other', given)).toThrow(sentence);
    });

    it('of planted mistakes goes on where each search has stopped', () => {
      const path = join(folder, 'mistakes');
      const first = new MistakeReport(path, 'abc');
      first.add({ mistake: 'a', tried: 10, isOver: false });
      first.add({ mistake: 'a', tried: 20, isOver: false });
      first.add({ mistake: 'b', tried: 3, isOver: true, found: 'seed 2' });
      const again = new MistakeReport(path, 'abc');
      expect(again.done.get('a')?.tried).toBe(20);
      expect(again.done.get('b')).toMatchObject({ isOver: true, found: 'seed 2' });
      expect(() => new MistakeReport(path, 'def')).toThrow('it is of commit abc, and this is def');
    });

    it('a file that holds no report is refused in one sentence', () => {
      writeFileSync(join(folder, 'none'), '{"comm');
      expect(() => opened('none')).toThrow('its head is cut off or none');
    });
  });
});
