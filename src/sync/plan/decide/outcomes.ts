// The outcomes of a decision that need no more than a sentence.

import type { Key } from '../../../object/meta/object.ts';
import { andMore } from '../../../object/text/in-words.ts';
import type { AddressRefusal } from '../address-policy.ts';
import type { Outcome } from '../step.ts';

/** Three addresses show the mistake and still fit into one event. */
const namedAddresses = 3;

export const notOurCopy = 'the host Service of that name is not a copy of this virtual Service';

/** vCluster's sync of Services takes the selector away, a moment after the virtual Service has lost its own. */
export const stillHasSelector = 'the host copy of its Service still has a selector';

export const sourcePending: Outcome = {
  kind: 'waiting',
  reason: 'SourcePending',
  message: 'the object that it was made from has not been judged yet',
};

export const takenByService: Outcome = {
  kind: 'refused',
  reason: 'HostNameTaken',
  message: 'its host name is taken by a Service of the host cluster itself',
  detail: notOurCopy,
};

export function collision(winner: Key): Outcome {
  return {
    kind: 'refused',
    reason: 'NameCollision',
    message: `its host name belongs to "${winner}", which has its copy there, is older, or is first by its key`,
  };
}

export function addressRefused(refusals: readonly AddressRefusal[]): Outcome {
  const named = refusals.slice(0, namedAddresses).map((refusal) => `"${refusal.address}" (${refusal.rule})`);
  return {
    kind: 'refused',
    reason: 'AddressRefused',
    message: `the address policy refuses ${named.join(', ')}${andMore(refusals.length - namedAddresses)}`,
  };
}

interface SharedName {
  service: Key;
  name: string;
  holder: Key;
}

export function serviceCollisionMessage({ service, name, holder }: SharedName): string {
  return `its Service "${service}" and the Service "${holder}" have one host name, "${name}", which belongs to "${holder}"`;
}

export function serviceCollision(shared: SharedName): Outcome {
  return { kind: 'refused', reason: 'NameCollision', message: serviceCollisionMessage(shared) };
}

/** Looks again soon: the loser's copies are removed within milliseconds, and no event announces those of another kind. */
const leavingRetryMs = 500;

export const namePending: Outcome = {
  kind: 'waiting',
  reason: 'NamePending',
  message:
    'another Service may have the host name of its Service, and the objects of the other kind are not listed yet',
  retryAfterMs: leavingRetryMs,
};

export function nameBusy(leaving: Key): Outcome {
  return {
    kind: 'waiting',
    reason: 'HostNameBusy',
    message: `the copy of "${leaving}" still stands behind the host name of its Service, and must be removed first`,
    retryAfterMs: leavingRetryMs,
  };
}

/** A copy of ours on which somebody has changed an annotation, or which somebody has made from one. `sync/report` finds it by these words. */
export const wrongNames = 'bears our marks and names another virtual object';

export function wronglyNamed(named: Key): Outcome {
  const message = `its host name is taken by an object that ${wrongNames}`;
  const detail = `its annotations make it the copy of "${named}", which belongs elsewhere`;
  return { kind: 'refused', reason: 'NotOwned', message, detail };
}

export function notOwned(detail: string): Outcome {
  return {
    kind: 'refused',
    reason: 'NotOwned',
    message: 'its host name is taken by an object that Hostward does not manage',
    detail,
  };
}
