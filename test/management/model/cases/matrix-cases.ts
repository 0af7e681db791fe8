// The cells of the matrix: every kind of subject with every form of scope, every state of a key and every kind of maker, each
// with random requests.
import type { MatrixCase, MatrixConfiguration, MatrixKey, MatrixTarget } from '../../matrix-case.ts';
import { aimRequest, aimTarget } from '../aim.ts';
import { Dice } from '../dice.ts';
import { configurationOf } from './configuration-cases.ts';
import { bystanders, keyOf, keyStates, liveStates, now, type SubjectForm, subjectForms } from './key-cases.ts';
import { instanceRequest, keyRequest, requestOf, targetKinds, targetOf } from './request-cases.ts';
import { type ScopeForm, scopeForms } from './scope-cases.ts';

export interface Cell {
  /** Names the forms that the case combines. */
  title: string;
  seed: number;
  of: MatrixCase;
}

interface Forms {
  subject: string;
  state: string;
  scope: string;
  makers: number;
  target: MatrixTarget['kind'];
  about: 'anything' | 'instances' | 'keys';
}

const requestAbout = { anything: requestOf, instances: instanceRequest, keys: keyRequest };

/** A configuration is read once and then asked many times, as in the daemon. */
const cellsOfOneConfiguration = 100;

/** Their keys are refused whatever else the case says, so that a few of each are enough. */
const deadSubjects = ['disabled user', 'missing user', 'missing team'];

/** Each round combines every subject with every scope form, on all targets; the states of keys take a share of their own. */
export function* cells(rounds: number, seed: number): Generator<Cell> {
  let next = seed;
  let configuration = configurationOf(new Dice(seed));
  for (const forms of formsOf(rounds)) {
    if (next % cellsOfOneConfiguration === 0) configuration = configurationOf(new Dice(next));
    yield cellOf(next++, forms, configuration);
  }
}

function* formsOf(rounds: number): Generator<Partial<Forms>> {
  for (let round = 0; round < rounds; round++)
    for (const subject of Object.keys(subjectForms)) {
      const scopes = deadSubjects.includes(subject) ? [] : Object.keys(scopeForms);
      for (const scope of scopes) {
        for (const target of targetKinds) yield { subject, scope, target };
        for (const about of ['instances', 'keys'] as const) yield { subject, scope, target: 'Management', about };
      }
      for (const state of Object.keys(keyStates)) yield { subject, state };
    }
}

function cellOf(seed: number, wanted: Partial<Forms>, configuration: MatrixConfiguration): Cell {
  const dice = new Dice(seed);
  const forms: Forms = {
    state: dice.pick(liveStates),
    scope: dice.pick(Object.keys(scopeForms)),
    target: dice.pick(targetKinds),
    makers: dice.chance(15) ? 1 + dice.below(2) : 0,
    subject: 'user',
    about: 'anything',
    ...wanted,
  };
  const title = `${forms.subject}; ${forms.state}; ${forms.scope}; ${forms.makers} makers; ${forms.target}`;
  return { title, seed, of: caseOf(forms, configuration, dice) };
}

function caseOf(forms: Forms, configuration: MatrixConfiguration, dice: Dice): MatrixCase {
  const makers = makersOf(forms.makers, dice);
  const caller = keyOf('k-self', {
    ...subjectForm(forms.subject)(dice),
    ...keyStates[forms.state]?.(dice),
    ...scopePart(scopeForms[forms.scope], dice),
    ...(forms.makers > 0 ? { madeBy: 'k-maker' } : {}),
  });
  const scope = dice.chance(75) ? (caller.scope ?? {}) : {};
  const target = aimTarget(targetOf(forms.target, dice), scope, dice);
  const request = aimRequest(requestAbout[forms.about](target, dice), scope, dice);
  return { configuration, keys: [caller, ...makers, ...bystanders(dice)], caller: caller.name, now, request };
}

function subjectForm(name: string): SubjectForm {
  const form = subjectForms[name];
  if (form === undefined) throw new Error(`there is no form of subjects "${name}"`);
  return form;
}

function scopePart(form: ScopeForm | undefined, dice: Dice): Partial<MatrixKey> {
  const scope = form?.(dice);
  return scope === undefined ? {} : { scope };
}

/** A chain of makers. Now and then one is gone, is dead, or has lost its scope since. */
function makersOf(count: number, dice: Dice): MatrixKey[] {
  const all = ['k-maker', 'k-makers-maker'].slice(0, count);
  return all.flatMap((name, index) => {
    if (dice.chance(6)) return [];
    const subject = dice.pick([
      'user',
      'another user',
      'administrator',
      'team',
      'subject',
      'disabled user',
      'missing user',
    ]);
    const state = dice.chance(75) ? dice.pick(liveStates) : dice.pick(Object.keys(keyStates));
    const scope = dice.pick([
      'rule without conditions',
      'rules mixed',
      'union',
      'projects',
      'all projects',
      'absent',
      'no entries',
    ]);
    // Now and then the chain returns to the caller.
    const above = all[index + 1] ?? (dice.chance(4) ? 'k-self' : undefined);
    return [
      keyOf(name, {
        ...subjectForm(dice.chance(70) ? 'user' : subject)(dice),
        ...keyStates[state]?.(dice),
        ...scopePart(scopeForms[scope], dice),
        ...(above === undefined ? {} : { madeBy: above }),
      }),
    ];
  });
}
