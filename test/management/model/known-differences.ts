// Differences between the model and the implementation that wait for a decision. Each entry says exactly how the implementation
// departs from the model, and the matrix compares the implementation with the model that departs in all these ways, so that an
// entry hides nothing else. An entry that changes no cell fails the test: it is removed together with the difference.
import type { MatrixCase } from '../matrix-case.ts';
import { type Departure, type ModelVerdict, modelVerdict } from './model.ts';

export interface KnownDifference {
  reason: string;
  departs?: Departure;
  /** The case as the implementation reads it. */
  reads?: (of: MatrixCase) => MatrixCase;
}

export const knownDifferences: readonly KnownDifference[] = [
  {
    reason:
      'D 2.7: "A scoped key sees only itself unless a rule grants more"; the implementation shows all keys of the subject and its teams whatever the scope',
    departs: 'scopes hide no keys',
  },
  {
    reason:
      'D 2.7: "Everybody else gets 404, never 403"; the implementation answers 403 to a scoped key that names a key which it cannot see',
    departs: 'scopes refuse before keys are hidden',
  },
  {
    reason:
      'N 6: "`*` every namespace that begins with `p-`"; the implementation leaves out the namespace that is called "p-"',
    reads: (of) =>
      of.request.isResource && of.request.namespace === 'p-'
        ? { ...of, request: { ...of.request, namespace: 'p' } }
        : of,
  },
  {
    reason:
      'R 3: the ttl counts "from status.lastActivity when ttlAfterLastActivity is true"; the implementation counts from the creation when that is later',
    reads: (of) => ({
      ...of,
      keys: of.keys.map((key) =>
        key.lastActivity !== undefined && Date.parse(key.lastActivity) < Date.parse(key.creationTimestamp)
          ? { ...key, lastActivity: key.creationTimestamp }
          : key,
      ),
    }),
  },
];

/** The verdict of the model that departs in the given ways. */
export function departingVerdict(of: MatrixCase, known: readonly KnownDifference[]): ModelVerdict {
  const read = known.reduce((soFar, difference) => difference.reads?.(soFar) ?? soFar, of);
  return modelVerdict(read, new Set(known.flatMap((difference) => difference.departs ?? [])));
}
