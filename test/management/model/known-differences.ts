// Differences between the model and the implementation that somebody has looked at and that wait for a decision. Each entry
// explains exactly the cells that it names, so that it hides nothing else, and an entry that explains no cell fails the test:
// it is removed together with the difference.
import type { MatrixAnswer, MatrixCase, MatrixKey } from '../matrix-case.ts';
import { scopesInForce } from './life.ts';
import { authorise, concernsCaller, type ModelVerdict } from './model.ts';
import { isOnKeys } from './request.ts';

export interface Comparison {
  of: MatrixCase;
  model: ModelVerdict;
  implementation: MatrixAnswer;
}

interface KnownDifference {
  reason: string;
  /** The part of the answer that the entry is about. */
  part: keyof MatrixAnswer;
  explains: (comparison: Comparison) => boolean;
}

export const knownDifferences: readonly KnownDifference[] = [
  {
    part: 'sees',
    reason:
      'D 2.7 says "A scoped key sees only itself unless a rule grants more"; the implementation lists all keys of the subject and its teams whatever the scope',
    explains: ({ of, implementation }) => {
      const caller = callerOf(of);
      const ofSubject = of.keys.filter((key) => key === caller || concernsCaller(key, caller, of));
      return (
        isScoped(of) &&
        sameNames(
          ofSubject.map((key) => key.name),
          implementation.sees,
        )
      );
    },
  },
  {
    part: 'allowed',
    reason:
      'D 2.7 says "Everybody else gets 404, never 403"; the implementation answers 403 when a scope does not grant a request that names a key which the caller cannot see',
    explains: ({ of, model, implementation }) =>
      isScoped(of) &&
      isOnKeys(of.request) &&
      of.request.name !== '' &&
      model.answer.allowed &&
      !model.answer.sees.includes(of.request.name) &&
      !authorise(of.request, callerOf(of), of).allowed &&
      !implementation.allowed,
  },
  {
    part: 'allowed',
    reason:
      'N 6 lets the project "*" reach every namespace that begins with "p-"; the implementation leaves out the namespace "p-" itself',
    explains: ({ of, model, implementation }) =>
      isScoped(of) &&
      of.request.isResource &&
      of.request.namespace === 'p-' &&
      scopesInForce(callerOf(of), of).some((scope) => scope.projects?.some(({ project }) => project === '*')) &&
      model.answer.allowed &&
      !implementation.allowed,
  },
];

export function sameNames(some: readonly string[], others: readonly string[]): boolean {
  return some.toSorted().join(' ') === others.toSorted().join(' ');
}

function isScoped(of: MatrixCase): boolean {
  return scopesInForce(callerOf(of), of).length > 0;
}

function callerOf(of: MatrixCase): MatrixKey {
  const caller = of.keys.find((key) => key.name === of.caller);
  if (caller === undefined) throw new Error(`the case names the caller "${of.caller}", which is no key of the case`);
  return caller;
}
