// Decides the next step for one key: a request, or the outcome of the pass. In: the facts about the key and the memory of
// the pass. Out: a step. Pure, so that a test can enumerate a crash after every write. It must never know a window, a
// writer, a timer or the log.

import type { Key } from '../../../object/meta/object.ts';
import { onlyOf } from '../backflow.ts';
import { type Draft, renderCreate, type Translation } from '../draft.ts';
import { markerLabel } from '../keys/reserved-keys.ts';
import { type HostItem, isTakenByController, type VirtualItem } from '../kind.ts';
import { ownerReference } from '../owner.ts';
import { isSamePlace, judgeOwnership } from '../ownership.ts';
import { canHaveBeenAt, type HostPlace } from '../placement.ts';
import { ask, done, type Facts, type HostMergePatch, type Memory, type PatchFailure, type PlanStep } from '../step.ts';
import { agreementOf, type HostChange, planUpdate, type Update } from '../update-patch.ts';
import { heldBackFlow, nextAlone } from './held-back-flow.ts';
import { decideNameClash } from './name-clash.ts';
import {
  addressRefused,
  notOurCopy,
  notOwned,
  sourcePending,
  stillHasSelector,
  takenByService,
  wronglyNamed,
} from './outcomes.ts';
import { decideRemoval, decideStrays, handsOff } from './removal.ts';

/** The reason of the write that makes a native object our copy. */
export const takeOverReason = 'taken over';

export function decide(facts: Facts, memory: Memory, translation: Translation): PlanStep {
  if (memory.end !== undefined) return done(memory.end);
  const { mustRead } = memory;
  if (mustRead?.side === 'host') return ask({ side: 'host', verb: 'get', what: 'object', place: mustRead.place });
  if (mustRead?.side === 'virtual' && facts.virtual) {
    return ask({ side: 'virtual', verb: 'get', place: placeOf(facts.virtual) });
  }
  const { verdict } = facts;
  if (verdict.kind === 'ineligible') {
    return decideRemoval(facts, translation, { kind: 'ineligible', reason: verdict.reason, message: verdict.sentence });
  }
  // Checked before a clash of names: an object with refused addresses must give up the host name it holds.
  if (facts.refusals.length > 0 && facts.patchFailure === undefined) {
    return decideRemoval(facts, translation, addressRefused(facts.refusals));
  }
  if (facts.isSourcePending) return done(sourcePending);
  const lost = decideNameClash(facts, memory, translation);
  if (lost !== undefined) return lost;
  if (hasForeignService(facts, translation)) return decideRemoval(facts, translation, takenByService);
  if (facts.patchFailure !== undefined) return decideStale(facts, facts.patchFailure);
  return decidePresence(facts, memory, translation);
}

/** Whether somebody removes the copy of another key here: the key itself, or a pass over what its old mapping left behind. */
function isLeaving(host: HostItem, key: Key, { placement }: Translation): boolean {
  if (isSamePlace(host, placement.placeOf(key))) return true;
  // Away from every place that the key can have had, somebody has changed the annotations of a copy by hand.
  if (!canHaveBeenAt(host, key, placement)) return false;
  return placement.mode === 'mapped' && host.labels?.[markerLabel] === placement.virtualCluster;
}

/** Brings the host copy of an eligible object into the state that the draft describes. */
function decidePresence(facts: Facts, memory: Memory, translation: Translation): PlanStep {
  const virtual = facts.virtual as VirtualItem;
  const draft = facts.draft as Draft;
  const { host } = facts;
  if (host === undefined) return decideCreate(facts, memory, { virtual, draft, translation });
  const left = handsOff(host, virtual, translation.kind);
  if (left !== undefined) return done(left);
  if (host.isDeleting) {
    return done({
      kind: 'waiting',
      reason: 'HostDeleting',
      message: 'the host copy is being deleted; a new one is created afterwards',
    });
  }
  const ownership = judgeOwnership(host, facts.key, translation.placement);
  switch (ownership.kind) {
    case 'ours':
      return decideOurs(facts, ownership, { virtual, host, draft, translation, memory });
    case 'oursForOther':
      if (!isLeaving(host, ownership.key, translation)) {
        return done(wronglyNamed(ownership.key));
      }
      // Remove the strays first: the other key may in turn wait for a place that an old copy of this key holds.
      return decideStrays(facts, translation, {
        kind: 'waiting',
        reason: 'HostNameBusy',
        message: `its host name still holds the copy of "${ownership.key}", which must be removed first`,
        wakes: ownership.key,
      });
    case 'foreign':
      return done(notOwned(ownership.why));
    case 'native':
      return decideNative(facts, memory, {
        virtual,
        host,
        draft,
        translation,
        // A native object has no base, so no earlier agreement applies to it.
        memory: { ...memory, agreed: undefined },
      });
    default:
      return ownership satisfies never;
  }
}

function decideCreate(
  facts: Facts,
  memory: Memory,
  { virtual, draft, translation }: { virtual: VirtualItem; draft: Draft; translation: Translation },
): PlanStep {
  if (facts.owner.kind === 'missing') {
    return done({ kind: 'waiting', reason: 'OwnerMissing', message: facts.owner.message });
  }
  const { placement } = translation;
  // A plain name may be that of a Service of the host's own people: another object of that name would answer for it.
  const { servicePlace } = facts;
  if (placement.mode === 'mapped' && servicePlace && servicePlace.namespace !== placement.hostNamespace) {
    if (!memory.hostService.known) return ask({ side: 'host', verb: 'get', what: 'service', place: servicePlace });
    const { service } = memory.hostService;
    if (service !== undefined && service.isCopyOf !== facts.serviceKey) return done(takenByService);
  }
  const owner = ownerReference(facts.owner, virtual.hasController === true);
  const object = renderCreate(virtual, draft, { translation, owner });
  return ask(
    { side: 'host', verb: 'create', object, reason: 'eligible and not on the host' },
    { isLast: isLastOf(facts, memory) },
  );
}

/**
 * After a failed patch the host copy stays unchanged: no unpatched value is published and no address is withdrawn. Host edits wait too: only a
 * write of the copy could move its base, and without a moved base the second edit of a key would look like an edit of both sides and be lost.
 */
function decideStale(facts: Facts, failure: PatchFailure): PlanStep {
  const { message, retryAfterMs, isPassing } = failure;
  if (isPassing) return done({ kind: 'retry', message, retryAfterMs });
  const copy =
    facts.host === undefined ? 'there is no host copy yet' : 'the host copy stays as it was, and host edits of it wait';
  return done({ kind: 'refused', reason: 'PatchFailed', message: `${message}; ${copy}`, failure });
}

interface Presence {
  virtual: VirtualItem;
  host: HostItem;
  draft: Draft;
  translation: Translation;
  memory: Pick<Memory, 'agreed' | 'backflowRefused' | 'backAlone'>;
}

/** A foreign host Service also removes an existing copy; otherwise the order of events would decide whether it exists. */
function hasForeignService({ key, serviceKey, host, hostService }: Facts, { placement }: Translation): boolean {
  if (host === undefined || hostService === undefined || hostService.isCopyOf === serviceKey) return false;
  return judgeOwnership(host, key, placement).kind === 'ours';
}

/** Kubernetes' own object has our name. We take it over only if no other Service of the host can depend on it. */
function decideNative(facts: Facts, memory: Memory, presence: Presence): PlanStep {
  const { kind, placement } = presence.translation;
  const place = placeOf(presence.host);
  const taken = `its host name is taken by an ${kind.kind} of the host cluster itself`;
  if (!kind.takesOverNatives) return done({ kind: 'refused', reason: 'HostNameTaken', message: taken });
  if (!memory.hostService.known) return ask({ side: 'host', verb: 'get', what: 'service', place });
  const { service } = memory.hostService;
  const isFree = service === undefined && placement.mode === 'single';
  const isOurCopy = service !== undefined && service.isCopyOf === facts.serviceKey && !service.hasSelector;
  if (isFree || isOurCopy) return decideUpdate(facts, { ...presence, isTakeOver: true });
  const why =
    service === undefined
      ? 'there is no host Service of that name that is a copy of this virtual Service'
      : service.isCopyOf === facts.serviceKey
        ? stillHasSelector
        : notOurCopy;
  return done({
    kind: 'refused',
    reason: 'HostNameTaken',
    message: taken,
    detail: why,
  });
}

/** A change that the API server refuses in place: the copy is deleted and then made again. */
function decideOurs(facts: Facts, { isDeletable }: { isDeletable: boolean }, presence: Presence): PlanStep {
  const { host, draft, translation } = presence;
  const { kind } = translation;
  const found = kind.payloadOf(host);
  const why = kind.whyRemake?.(draft.payload, found);
  if (why === undefined) return decideUpdate(facts, { ...presence, isTakeOver: false });
  if (facts.owner.kind === 'missing') {
    return done({ kind: 'waiting', reason: 'OwnerMissing', message: facts.owner.message });
  }
  if (!isDeletable) {
    // Only the marks are mended in this step: no copy is deleted without all of them.
    return decideUpdate(facts, { ...presence, draft: { ...draft, payload: found }, isTakeOver: false, isStep: true });
  }
  const { uid, resourceVersion } = host;
  const preconditions = { uid, resourceVersion };
  return ask({ side: 'host', verb: 'remove', place: placeOf(host), preconditions, reason: why });
}

function decideUpdate(facts: Facts, presence: Presence & { isTakeOver: boolean; isStep?: boolean }): PlanStep {
  const { virtual, host, draft, translation, memory, isTakeOver, isStep = false } = presence;
  const plan = ({ holdsBack }: { holdsBack: boolean }): Update =>
    planUpdate({
      virtual,
      host,
      draft,
      translation,
      owner: ownerReference(facts.owner, virtual.hasController === true),
      isTakeOver,
      ignoreOrder: facts.ignoreOrder,
      reversed: facts.reversed,
      backflowFailures: facts.backflowFailures,
      agreed: memory.agreed,
      holdsBack,
    });
  const whole = plan({ holdsBack: false });
  const alone = whole.virtual && memory.backAlone && nextAlone(whole.virtual, memory.backAlone);
  const isUncertain = isTakenByController(host, translation.kind);
  const held = heldBackFlow(whole, facts, {
    backflowRefused: alone === undefined ? memory.backflowRefused : undefined,
    isUncertain,
  });
  // A held back-flow must not delay a change that the tenant made.
  const update = held === undefined ? whole : plan({ holdsBack: true });
  if (update.virtual !== undefined) {
    const back = alone === undefined ? update.virtual : onlyOf(update.virtual, alone);
    return ask({
      side: 'virtual',
      verb: 'patch',
      place: placeOf(virtual),
      mergePatch: {
        metadata: {
          uid: virtual.uid,
          resourceVersion: virtual.resourceVersion,
          ...(back.labels.size > 0 && { labels: Object.fromEntries(back.labels) }),
          ...(back.annotations.size > 0 && { annotations: Object.fromEntries(back.annotations) }),
        },
      },
      reason: 'edited on the host',
      back: update.virtual,
      ...(alone !== undefined && { alone }),
      agreed: agreementOf(back, host, { draft, translation }),
    });
  }
  if (update.host === undefined)
    return held === undefined ? decideStrays(facts, translation, { kind: 'inSync' }) : done(held);
  return ask(
    {
      side: 'host',
      verb: 'patch',
      place: placeOf(host),
      mergePatch: mergePatchOf(host, update.host),
      reason: isTakeOver ? takeOverReason : 'differs from the virtual side',
      touches: update.touches,
      conflicts: update.conflicts,
    },
    { isLast: !isTakeOver && !isStep && held === undefined && isLastOf(facts, memory) },
  );
}

/**
 * Whether this host write completes the pass. After a complete write the pass must not plan again: an expression that reads
 * the host copy could return a new value every time, and the pass would never end.
 */
function isLastOf(facts: Facts, { agreed }: Pick<Memory, 'agreed'>): boolean {
  return agreed === undefined && facts.strays.length === 0;
}

function mergePatchOf(host: HostItem, change: HostChange): HostMergePatch {
  return {
    metadata: {
      uid: host.uid,
      resourceVersion: host.resourceVersion,
      ...(change.labels.size > 0 && { labels: Object.fromEntries(change.labels) }),
      ...(change.annotations.size > 0 && { annotations: Object.fromEntries(change.annotations) }),
      ...(change.ownerReferences && { ownerReferences: change.ownerReferences }),
    },
    ...change.payload,
  };
}

function placeOf(item: HostPlace): HostPlace {
  return { namespace: item.namespace, name: item.name };
}
