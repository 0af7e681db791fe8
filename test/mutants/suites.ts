// Which suites meet a fault, nearest first: those that import its file themselves, then those of its room, then all that reach it. Found by reading
// imports, so that a new test counts from its first day.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importsOf } from '../architecture.ts';

export interface Suites {
  /** Tried first, ten seconds at most. */
  near: string[];
  room: string[];
  wide: string[];
}

/** Suites that are not run: they take minutes, or they check the shape of the sources instead of what the program does. */
const left =
  /^test\/(kube|mutants|bench|documents|launcher)\/|architecture|documents\.test|\/hostile\.test|exhaustion|kill\.test/;
const mostNear = 8;
/** Suites of another room that are about this one: what the kit promises is played on its smallest tenant. */
const alsoOwn: Readonly<Record<string, RegExp>> = { apiserver: /^test\/devcluster\/(contract|kubectl)/ };

export class SuiteFinder {
  #importers = new Map<string, Set<string>>();
  #tests: string[] = [];

  constructor(root: string) {
    for (const folder of ['src', 'test']) {
      for (const entry of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
        const file = `${folder}/${entry}`;
        if (!/\.(ts|mjs)$/.test(file)) continue;
        for (const target of importsOf(file, readFileSync(join(root, file), 'utf8')))
          this.#importers.set(target, (this.#importers.get(target) ?? new Set()).add(file));
        if (file.endsWith('.test.ts') && !left.test(file)) this.#tests.push(file);
      }
    }
  }

  of(file: string): Suites {
    const distances = this.#distances(file);
    const [, room = ''] = file.split('/');
    const isOwn = (test: string) => test.startsWith(`test/${room}/`) || alsoOwn[room]?.test(test) === true;
    // A file that is started as a thread or a process is imported by nobody.
    const isImported = this.#tests.some((test) => distances.has(test));
    const known = this.#tests.filter((test) => distances.has(test) || (!isImported && isOwn(test)));
    const sorted = known.toSorted((one, other) => score(one) - score(other) || (one < other ? -1 : 1));
    function score(test: string): number {
      // A test of the same folder knows more of the file than one that imports it by the way.
      const [, , ...folders] = file.split('/');
      const shared = folders.findIndex((part, nth) => test.split('/')[nth + 2] !== part);
      return (distances.get(test) ?? 99) * 4 - Math.max(0, shared) * 10 - (isOwn(test) ? 4 : 0);
    }
    const near = sorted.slice(0, mostNear);
    const rest = sorted.filter((test) => !near.includes(test));
    return { near, room: rest.filter(isOwn), wide: rest.filter((test) => !isOwn(test)) };
  }

  #distances(file: string): Map<string, number> {
    const found = new Map([[file, 0]]);
    for (const [one, distance] of found)
      for (const importer of this.#importers.get(one) ?? [])
        if (!found.has(importer)) found.set(importer, distance + 1);
    return found;
  }
}
