// The authorisation matrix: tens of thousands of cells, answered by the implementation and by a slow model of another hand.
import { beforeAll, describe, expect, it } from 'vitest';
import type { MatrixAnswer, MatrixCase } from './matrix-case.ts';
import { matrixAnswer } from './matrix-subject.ts';
import { type Cell, cells } from './model/cases/matrix-cases.ts';
import { smallestCase } from './model/cases/smallest-case.ts';
import { forgetful } from './model/forgetful.ts';
import { alwaysRefused } from './model/issuing.ts';
import { deaths } from './model/life.ts';
import { modelAnswer, modelVerdict } from './model/model.ts';
import { rights } from './model/rights.ts';
import { baseGrant, entries } from './model/scope.ts';

const rounds = 9;
const seed = 1;
/** A sentence that leads fewer cells than this is one that the matrix hardly asks about. */
const fewestCellsOfASentence = 5;
/** Shrinking takes a second or so for each case. */
const mostShown = 5;

interface Tally {
  allowed: number;
  ofSentence: Map<string, number>;
  different: Cell[];
}

function isSame(some: MatrixAnswer, other: MatrixAnswer): boolean {
  return some.allowed === other.allowed && some.sees.join(' ') === other.sees.join(' ');
}

function tallyOf(all: readonly Cell[]): Tally {
  const tally: Tally = { allowed: 0, ofSentence: new Map(), different: [] };
  for (const cell of all) {
    const { answer, because } = modelVerdict(cell.of);
    if (answer.allowed) tally.allowed++;
    for (const text of because) tally.ofSentence.set(text, (tally.ofSentence.get(text) ?? 0) + 1);
    if (!isSame(answer, matrixAnswer(cell.of))) tally.different.push(cell);
  }
  return tally;
}

/** A smaller configuration can be one that the implementation refuses to load. */
function staysDifferent(smaller: MatrixCase): boolean {
  try {
    return !isSame(modelAnswer(smaller), matrixAnswer(smaller));
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
  const of = smallestCase(cell.of, staysDifferent);
  const { answer, because } = modelVerdict(of);
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

  /** Every sentence that is forgotten asks for it again. */
  const answers = new Map<Cell, string>();
  const answerTo = (cell: Cell): string => {
    const known = answers.get(cell) ?? JSON.stringify(modelAnswer(cell.of));
    answers.set(cell, known);
    return known;
  };

  beforeAll(() => {
    all = [...cells(rounds, seed)];
    tally = tallyOf(all);
  });

  it('is answered by the implementation as by the model, in at least 20,000 cells', () => {
    expect(all.length).toBeGreaterThanOrEqual(20_000);
    expect(firstOfEachKind(tally.different).slice(0, mostShown).map(shown).join('\n\n')).toBe('');
    expect(tally.different).toHaveLength(0);
  });

  it('asks about every sentence of the model', () => {
    const texts = [...deaths, ...rights, ...baseGrant, ...entries, ...alwaysRefused].map((sentence) => sentence.text);
    expect(texts.filter((text) => (tally.ofSentence.get(text) ?? 0) < fewestCellsOfASentence)).toEqual([]);
    // A matrix of refusals would agree with a program that refuses everything.
    expect(tally.allowed).toBeGreaterThan(all.length / 10);
  });

  it.each(Object.entries(forgetful))('has cells that a program gets wrong when it forgets %s', (_, forget) => {
    const isWrong = (cell: Cell) => JSON.stringify(modelAnswer(forget(cell.of))) !== answerTo(cell);
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
