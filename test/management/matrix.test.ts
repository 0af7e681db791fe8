// The authorisation matrix: tens of thousands of cells, answered by the implementation and by a slow model of another hand.
import { beforeAll, describe, expect, it } from 'vitest';
import { matrixAnswer } from './matrix-subject.ts';
import { forgetful } from './model/forgetful.ts';
import { type Comparison, knownDifferences, sameNames } from './model/known-differences.ts';
import { deaths } from './model/life.ts';
import { type Cell, cells } from './model/matrix-cases.ts';
import { modelAnswer, modelVerdict } from './model/model.ts';
import { rights } from './model/rights.ts';
import { baseGrant, entries } from './model/scope.ts';
import { smallestCase } from './model/smallest-case.ts';

const rounds = 15;
const seed = 1;
/** A sentence that leads fewer cells than this is one that the matrix hardly asks about. */
const fewestCellsOfASentence = 5;
/** More differences than this say nothing new. */
const mostShown = 5;

interface Tally {
  cells: number;
  allowed: number;
  ofSentence: Map<string, number>;
  /** Beside each entry of knownDifferences. */
  explained: number[];
  unexplained: Cell[];
}

function compare(of: Cell['of']): Comparison {
  return { of, model: modelVerdict(of), implementation: matrixAnswer(of) };
}

function differingParts({ model, implementation }: Comparison): ('allowed' | 'sees')[] {
  const parts: ('allowed' | 'sees')[] = [];
  if (model.answer.allowed !== implementation.allowed) parts.push('allowed');
  if (!sameNames(model.answer.sees, implementation.sees)) parts.push('sees');
  return parts;
}

/** Index of the known difference that explains the part, or -1. */
function explanationOf(comparison: Comparison, part: 'allowed' | 'sees'): number {
  return knownDifferences.findIndex((known) => known.part === part && known.explains(comparison));
}

function isUnexplained(of: Cell['of']): boolean {
  const comparison = compare(of);
  return differingParts(comparison).some((part) => explanationOf(comparison, part) < 0);
}

function tallyOf(all: readonly Cell[]): Tally {
  const tally: Tally = {
    cells: 0,
    allowed: 0,
    ofSentence: new Map(),
    explained: knownDifferences.map(() => 0),
    unexplained: [],
  };
  for (const cell of all) {
    const comparison = compare(cell.of);
    const { model } = comparison;
    tally.cells++;
    if (model.answer.allowed) tally.allowed++;
    for (const text of model.because) tally.ofSentence.set(text, (tally.ofSentence.get(text) ?? 0) + 1);
    const found = differingParts(comparison).map((part) => explanationOf(comparison, part));
    for (const index of found) tally.explained[index] = (tally.explained[index] ?? 0) + 1;
    if (found.includes(-1)) tally.unexplained.push(cell);
  }
  return tally;
}

/** The smallest case with the same kind of difference, both answers and the sentences of the model. */
function shown(cell: Cell): string {
  const of = smallestCase(cell.of, isUnexplained);
  const { model, implementation } = compare(of);
  return [
    `${cell.title}, seed ${cell.seed}`,
    `case: ${JSON.stringify(of)}`,
    `model: ${JSON.stringify(model.answer)}, because ${model.because.join('; and ')}`,
    `implementation: ${JSON.stringify(implementation)}`,
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
    expect(tally.cells).toBeGreaterThanOrEqual(20_000);
    expect(tally.unexplained.slice(0, mostShown).map(shown).join('\n\n')).toBe('');
    expect(tally.unexplained).toHaveLength(0);
  });

  it('needs every known difference', () => {
    const unused = knownDifferences.filter((_, index) => tally.explained[index] === 0).map((known) => known.reason);
    expect(unused).toEqual([]);
  });

  it('asks about every sentence of the model', () => {
    const texts = [...deaths, ...rights, ...baseGrant, ...entries].map((sentence) => sentence.text);
    expect(texts.filter((text) => (tally.ofSentence.get(text) ?? 0) < fewestCellsOfASentence)).toEqual([]);
    // A matrix of refusals would agree with a program that refuses everything.
    expect(tally.allowed).toBeGreaterThan(tally.cells / 10);
  });

  it.each(Object.entries(forgetful))('has cells that a program gets wrong when it forgets %s', (_, forget) => {
    const isWrong = ({ of }: Cell) => JSON.stringify(modelAnswer(forget(of))) !== JSON.stringify(modelAnswer(of));
    expect(all.some(isWrong)).toBe(true);
  });

  it('shows the smallest case of a difference', () => {
    const deleting = all.find(({ of }) => of.keys[0]?.deletionTimestamp !== undefined && of.keys[0].disabled !== true);
    const livesWhenNotDeleting = (of: Cell['of']) =>
      JSON.stringify(modelAnswer(of)) !==
      JSON.stringify(modelAnswer(forgetful['deletionTimestamp of keys']?.(of) ?? of));
    const smallest = smallestCase((deleting as Cell).of, livesWhenNotDeleting);
    expect(livesWhenNotDeleting(smallest)).toBe(true);
    expect(smallest.keys.map((key) => key.name)).toEqual(['k-self']);
    expect(smallest.configuration.projects).toEqual([]);
    expect(smallest.keys[0]?.scope).toBeUndefined();
  });
});
