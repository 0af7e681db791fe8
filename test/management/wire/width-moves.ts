// What a key may try: make keys, change keys and give them new values, again and again, by every key that it has got hold of.
// A move is plain data, so that a failing sequence can be made shorter.
import { type Arbitrary, array, constant, constantFrom, integer, nat, oneof, record } from 'fast-check';
import type { MatrixScope } from '../matrix-case.ts';
import { scopeForms } from '../model/cases/scope-cases.ts';
import { Dice } from '../model/dice.ts';

export type Move =
  | { kind: 'make'; by: number; scope: ScopeChoice; subject: SubjectChoice; groups: string[]; time: object }
  | { kind: 'edit'; by: number; of: number; language: 'merge' | 'json' | 'put' | 'apply'; spec: SpecEdit }
  | { kind: 'rotate'; by: number; of: number };

/** A form of scopes and the seed of its names; undefined = the field is absent; `same` = as the key that makes it. */
export type ScopeChoice = { form: string; seed: number } | 'same' | undefined;
export type SubjectChoice = { user?: string; team?: string; subject?: string };
export interface SpecEdit {
  field: 'scope' | 'groups' | 'ttl' | 'ttlAfterLastActivity' | 'disabled' | 'user' | 'type';
  scope: ScopeChoice;
  groups: string[];
  number: number;
}

const scopes: Arbitrary<ScopeChoice> = oneof(
  { weight: 2, arbitrary: constant<ScopeChoice>('same') },
  { weight: 1, arbitrary: constant<ScopeChoice>(undefined) },
  { weight: 3, arbitrary: record({ form: constantFrom(...Object.keys(scopeForms)), seed: nat(1_000) }) },
);
const groups = oneof(
  { weight: 3, arbitrary: constant<string[]>([]) },
  array(constantFrom('devs', 'ops', 'chiefs'), { minLength: 1, maxLength: 2 }),
);
const subjects: Arbitrary<SubjectChoice> = oneof(
  { weight: 3, arbitrary: constant({}) },
  constantFrom(
    { user: 'alice' },
    { user: 'bob' },
    { user: 'root' },
    { team: 'red' },
    { team: 'blue' },
    { subject: 'ci' },
  ),
);
const times = constantFrom<object>(
  {},
  {},
  { ttl: 60 },
  { ttl: 1_000 },
  { ttl: 1_000_000 },
  { ttl: 300, ttlAfterLastActivity: true },
  { ttl: 1_000_000, ttlAfterLastActivity: true },
);
const who = nat(30);

const move: Arbitrary<Move> = oneof(
  {
    weight: 3,
    arbitrary: record({
      kind: constant('make' as const),
      by: who,
      scope: scopes,
      subject: subjects,
      groups,
      time: times,
    }),
  },
  {
    weight: 3,
    arbitrary: record({
      kind: constant('edit' as const),
      by: who,
      of: who,
      language: constantFrom('merge', 'json', 'put', 'apply'),
      spec: record({
        field: constantFrom('scope', 'groups', 'ttl', 'ttlAfterLastActivity', 'disabled', 'user', 'type'),
        scope: scopes,
        groups,
        number: constantFrom(0, 1, 60, 1_000, 1_000_000),
      }),
    }),
  },
  { weight: 2, arbitrary: record({ kind: constant('rotate' as const), by: who, of: who }) },
);

export interface Start {
  subject: SubjectChoice;
  groups: string[];
  scope: ScopeChoice;
  time: object;
  /** Of the configuration and of the requests that are tried. */
  seed: number;
}

export const starts: Arbitrary<Start> = record({
  subject: constantFrom<SubjectChoice>(
    { user: 'alice' },
    { user: 'alice' },
    { user: 'bob' },
    { team: 'red' },
    { subject: 'ci' },
  ),
  groups,
  // Most scopes let a key make none, and a sequence of refusals proves little.
  scope: oneof(
    { weight: 4, arbitrary: constant<ScopeChoice>(undefined) },
    {
      weight: 4,
      arbitrary: record({ form: constantFrom('rule without conditions', 'union', 'rules mixed'), seed: nat(1_000) }),
    },
    { weight: 1, arbitrary: scopes },
  ),
  time: constantFrom<object>({}, {}, { ttl: 5_000 }, { ttl: 5_000, ttlAfterLastActivity: true }),
  seed: integer({ min: 1, max: 100_000 }),
});

export const moves: Arbitrary<Move[]> = array(move, { minLength: 2, maxLength: 12 });

export function scopeOf(choice: ScopeChoice, ofMaker: MatrixScope | undefined): MatrixScope | undefined {
  if (choice === 'same') return ofMaker;
  return choice === undefined ? undefined : scopeForms[choice.form]?.(new Dice(choice.seed));
}
