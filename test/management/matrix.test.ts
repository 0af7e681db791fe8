// The authorisation matrix: tens of thousands of cells, answered by the implementation and by a slow model of another hand.
import { beforeAll, describe, expect, it } from 'vitest';
import type { MatrixAnswer, MatrixCase } from './matrix-case.ts';
import { matrixAnswer } from './matrix-subject.ts';
import { forgetful } from './model/forgetful.ts';
import { departingVerdict, knownDifferences } from './model/known-differences.ts';
import { deaths } from './model/life.ts';
import { type Cell, cells } from './model/matrix-cases.ts';
import { modelAnswer, modelVerdict } from './model/model.ts';
import { rights } from './model/rights.ts';
import { baseGrant, entries } from './model/scope.ts';
import { smallestCase } from './model/smallest-case.ts';

const rounds = 9;
const seed = 1;
/** A sentence that leads fewer cells than this is one that the matrix hardly asks about. */
const fewestCellsOfASentence = 5;
/** Shrinking takes a second or so for each case. */
const mostShown = 5;

interface Tally {
  allowed: number;
  ofSentence: Map<string, number>;
  /** Cells that differ when one entry of knownDifferences is left out, beside the entry. */
  ofKnown: number[];
  unexplained: Cell[];
}

function isSame(some: MatrixAnswer, other: MatrixAnswer): boolean {
  return some.allowed === other.allowed && some.sees.join(' ') === other.sees.join(' ');
}

/** Whether the implementation answers neither as the model nor as the model that departs in all known ways. */
function isUnexplained(of: MatrixCase, implementation: MatrixAnswer): boolean {
  if (isSame(modelAnswer(of), implementation)) return false;
  return !isSame(departingVerdict(of, knownDifferences).answer, implementation);
}

function tallyOf(all: readonly Cell[]): Tally {
  const others = knownDifferences.map((left) => knownDifferences.filter((known) => known !== left));
  const tally: Tally = { allowed: 0, ofSentence: new Map(), ofKnown: others.map(() => 0), unexplained: [] };
  for (const cell of all) {
    const implementation = matrixAnswer(cell.of);
    const { answer, because } = modelVerdict(cell.of);
    if (answer.allowed) tally.allowed++;
    for (const text of because) tally.ofSentence.set(text, (tally.ofSentence.get(text) ?? 0) + 1);
    if (isSame(answer, implementation)) continue;
    if (isUnexplained(cell.of, implementation)) tally.unexplained.push(cell);
    for (const [index, rest] of others.entries())
      if (!isSame(departingVerdict(cell.of, rest).answer, implementation))
        tally.ofKnown[index] = (tally.ofKnown[index] ?? 0) + 1;
  }
  return tally;
}

/** A smaller configuration can be one that the implementation refuses to load. */
function staysUnexplained(smaller: MatrixCase): boolean {
  try {
    return isUnexplained(smaller, matrixAnswer(smaller));
  } catch {
    return false;
  }
}

/** One cell for each sentence that the model went by: more say nothing new. */
function firstOfEachKind(all: readonly Cell[]): Cell[] {
  const kinds = new Map<string, Cell>();
  for (const cell of all.toReversed()) kinds.set(modelVerdict(cell.of).because.at(-1) ?? '', cell);
  return [...kinds.values()];
}

/** The smallest case that still differs, both answers and the sentences of the model. */
function shown(cell: Cell): string {
  const of = smallestCase(cell.of, staysUnexplained);
  const { answer, because } = departingVerdict(of, knownDifferences);
  return [
    `${cell.title}, seed ${cell.seed}`,
    `case: ${JSON.stringify(of)}`,
    `model: ${JSON.stringify(answer)}, because ${because.join('; and ')}`,
    `implementation: ${JSON.stringify(matrixAnswer(of))}`,
  ].join('\n');
}

describe('the authorisation matrix', () => {
  let all: Cell[];
  let tally: Tally;

  beforeAll(() => {
    all = [...cells(rounds, seed)];
    tally = tallyOf(all);
  });

  it('is answered by the implementation as by the model, in at least 20,000 cells', () => {
    expect(all.length).toBeGreaterThanOrEqual(20_000);
    expect(firstOfEachKind(tally.unexplained).slice(0, mostShown).map(shown).join('\n\n')).toBe('');
    expect(tally.unexplained).toHaveLength(0);
  });

  it('needs every known difference', () => {
    const unused = knownDifferences.filter((_, index) => tally.ofKnown[index] === 0).map((known) => known.reason);
    expect(unused).toEqual([]);
  });

  it('asks about every sentence of the model', () => {
    const texts = [...deaths, ...rights, ...baseGrant, ...entries].map((sentence) => sentence.text);
    expect(texts.filter((text) => (tally.ofSentence.get(text) ?? 0) < fewestCellsOfASentence)).toEqual([]);
    // A matrix of refusals would agree with a program that refuses everything.
    expect(tally.allowed).toBeGreaterThan(all.length / 10);
  });

  it.each(Object.entries(forgetful))('has cells that a program gets wrong when it forgets %s', (_, forget) => {
    const isWrong = ({ of }: Cell) => JSON.stringify(modelAnswer(forget(of))) !== JSON.stringify(modelAnswer(of));
    expect(all.some(isWrong)).toBe(true);
  });

  it('shows the smallest case of a difference', () => {
    const deleting = all.find(({ of }) => of.keys[0]?.deletionTimestamp !== undefined && of.keys[0].disabled !== true);
    const livesWhenNotDeleting = (of: MatrixCase) =>
      JSON.stringify(modelAnswer(of)) !==
      JSON.stringify(modelAnswer(forgetful['deletionTimestamp of keys']?.(of) ?? of));
    const smallest = smallestCase((deleting as Cell).of, livesWhenNotDeleting);
    expect(livesWhenNotDeleting(smallest)).toBe(true);
    expect(smallest.keys.map((key) => key.name)).toEqual(['k-self']);
    expect(smallest.configuration.projects).toEqual([]);
    expect(smallest.keys[0]?.scope).toBeUndefined();
  });
});
