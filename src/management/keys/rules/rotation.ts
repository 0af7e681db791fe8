// Says whether the caller may have a new value of a key at all: nothing that a rotation could send would change this answer, so a
// review gives it too. In: the request, the caller and the key that the request names. Out: the reason, or undefined.
import { type AccessRequest, isManagementResource, keyResource } from '../../scope/request.ts';
import type { KeyFacts } from '../life/key-facts.ts';
import { handOverRefusals } from './hand-over.ts';
import { widthRefusals } from './issue.ts';
import { type Caller, refusalText } from './judgement.ts';

/** The key may be one that the caller does not see: then its absence is the answer, and nobody asks here. */
export function whyNotRotated(request: AccessRequest, caller: Caller, key: KeyFacts): string | undefined {
  if (!isManagementResource(request, keyResource) || request.subresource !== 'rotate') return undefined;
  if (request.verb !== 'create' || caller.credential.keyName === key.name) return undefined;
  const refusals = [...widthRefusals({ scope: key.scoped?.value }, { caller }), ...handOverRefusals(key, caller)];
  return refusals.length === 0 ? undefined : refusalText(refusals);
}
