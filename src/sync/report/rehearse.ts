// Computes offline how the daemon would change virtual objects and their host copies: the passes of the live sync run between
// two clusters in memory. In: objects of both sides and the rules. Out: both sides afterwards and the outcome of each pass. It
// contains no rule of its own.
import { type Key, type KubeObject, keyOf, splitKey } from '../../object/meta/object.ts';
import { createPatching } from '../loop/pass/patching.ts';
import { type Patching, reconcile } from '../loop/pass/reconcile.ts';
import type { SyncRules } from '../loop/pass/rules.ts';
import { StoredAsRequested } from '../loop/pass/stored-as-requested.ts';
import { baseOf, fixedAnnotations, fixedLabels, present } from '../plan/draft.ts';
import { formatBase } from '../plan/keys/base.ts';
import { baseKey, objectKeys } from '../plan/keys/reserved-keys.ts';
import { projectService, serviceKeyOf } from '../plan/kind.ts';
import type { BackflowFailures, Outcome } from '../plan/step.ts';
import { Registry } from '../world/registry.ts';
import type { Circumstances } from '../world/sources.ts';
import type { Standing } from '../world/standing.ts';
import { World } from '../world/world.ts';
import { MemoryCluster } from './memory-cluster.ts';

export interface RehearsalInput {
  /** Objects of the kind that is synced. */
  virtual: readonly KubeObject[];
  /** An object without a Service in this list gets one without a selector, so that it is eligible. */
  services: readonly KubeObject[];
  host: readonly KubeObject[];
  rules: SyncRules;
  /** uid of the host Service VC; without it no owner reference is written. */
  ownerUid: string | undefined;
  /** Host objects without a base get the base of a fresh copy, so that differences count as edits on the host. */
  assumesAgreement: boolean;
  /** Called before the patches of an object run. */
  patching?: (key: Key, direction: 'forward' | 'back') => void;
}

export interface Rehearsed {
  key: Key;
  outcome: Outcome;
  virtual: KubeObject;
  /** Undefined when the object has no host copy. */
  host: KubeObject | undefined;
  /** Host values that the virtual object cannot get. */
  backflowFailures: BackflowFailures | undefined;
}

const circumstances: Circumstances = {
  isDeleteWithheld: false,
  ignoreOrder: false,
  mayRemoveLabelsBack: true,
  backFlowWaitMs: 0,
};

export async function rehearse(input: RehearsalInput): Promise<Rehearsed[]> {
  const { rules } = input;
  const { kind, placement } = rules.translation;
  const virtualCluster = new MemoryCluster();
  const hostCluster = new MemoryCluster();
  const { resource } = kind.resource;
  const windows = {
    virtual: virtualCluster.window(resource, (object) => kind.projectVirtual(object)),
    services: virtualCluster.window('services', projectService),
    host: hostCluster.window(resource, (object) => kind.projectHost(object)),
    owner: input.ownerUid === undefined ? undefined : hostCluster.window('services', projectService),
  };
  // Offline, an object of another kind that this one was made from counts as synced.
  const isFine = (): Standing => ({ kind: 'fine' });
  const registry = new Registry({ standingOf: isFine, lastStandingOf: isFine });
  const life = { isReady: () => true, isWritten: () => true, wake: () => {} };
  const world = new World({ windows, rules, registry }, life);
  for (const object of input.host) hostCluster.put(resource, object);
  if (input.ownerUid !== undefined) {
    const metadata = { namespace: placement.hostNamespace, name: placement.virtualCluster, uid: input.ownerUid };
    hostCluster.put('services', { apiVersion: 'v1', kind: 'Service', metadata });
  }
  for (const service of input.services) virtualCluster.put('services', service);
  const keys = input.virtual.map((object) => {
    const known = withUidOf(object, input.host);
    const { namespace = '', name = '' } = known.metadata;
    virtualCluster.put(resource, known);
    const key = keyOf(namespace, name);
    const serviceKey = serviceKeyOf(kind, key, kind.projectVirtual(known));
    if (serviceKey !== undefined && !world.windows.services.has(serviceKey))
      virtualCluster.put('services', { apiVersion: 'v1', kind: 'Service', metadata: splitKey(serviceKey) });
    return key;
  });
  for (const key of keys) world.noteVirtual(key);
  for (const hostKey of world.windows.host.keys()) world.noteHost(hostKey);
  const patching = patchingOf(input, world);
  if (input.assumesAgreement) for (const key of keys) await assumeBase(key, { world, patching, hostCluster });
  const ports = {
    world,
    patching: patching && observed(patching, input.patching),
    virtualWriter: virtualCluster.writer(),
    hostWriter: hostCluster.writer(),
    halfDone: new Map(),
    circumstances: () => circumstances,
    storedAsRequested: new StoredAsRequested(world, { looking: () => {}, hasNews: () => false }),
    wake: () => {},
    mayWrite: () => undefined,
    written: () => {},
  };
  const results: Rehearsed[] = [];
  for (const key of keys) {
    const { outcome, facts } = await reconcile(key, ports);
    const place = world.placeOf(key);
    results.push({
      key,
      outcome,
      virtual: virtualCluster.object(resource, key) as KubeObject,
      host: place && hostCluster.object(resource, keyOf(place.namespace, place.name)),
      backflowFailures: facts.backflowFailures,
    });
  }
  return results;
}

function patchingOf({ rules }: RehearsalInput, world: World): Patching | undefined {
  return rules.patcher && createPatching(rules.patcher, world);
}

function observed(patching: Patching, tell: RehearsalInput['patching']): Patching {
  return {
    forward(facts) {
      tell?.(facts.key, 'forward');
      return patching.forward(facts);
    },
    back(facts, raw) {
      tell?.(facts.key, 'back');
      return patching.back(facts, raw);
    },
  };
}

/** Adds the uid from the host copy to a virtual object that was written by hand and lacks one. */
function withUidOf(virtual: KubeObject, host: readonly KubeObject[]): KubeObject {
  if (virtual.metadata.uid) return virtual;
  const { namespace, name } = virtual.metadata;
  const copy = host.find(({ metadata: { annotations } }) => {
    return annotations?.[objectKeys.name] === name && annotations?.[objectKeys.namespace] === namespace;
  });
  const uid = copy?.metadata.annotations?.[objectKeys.uid];
  return uid ? { ...virtual, metadata: { ...virtual.metadata, uid } } : virtual;
}

/** Adds the base of a fresh copy, so that all differences count as edits on the host. */
async function assumeBase(
  key: Key,
  on: { world: World; patching: Patching | undefined; hostCluster: MemoryCluster },
): Promise<void> {
  const { world, patching, hostCluster } = on;
  const { translation } = world.rules;
  const seen = world.look(key, circumstances);
  const { draft, virtual, host } = patching === undefined ? seen : await patching.forward(seen);
  if (draft === undefined || virtual === undefined || host === undefined) return;
  if (host.annotations?.[baseKey] !== undefined) return;
  const { resource } = translation.kind.resource;
  const copy = hostCluster.object(resource, keyOf(host.namespace, host.name)) as KubeObject;
  const marks = {
    labels: Object.fromEntries(present(fixedLabels(virtual, translation))),
    annotations: Object.fromEntries(present(fixedAnnotations(virtual, draft.place, translation))),
  };
  const labels = { ...marks.labels, ...copy.metadata.labels };
  const base = formatBase(baseOf(virtual, draft, translation));
  const annotations = { ...marks.annotations, ...copy.metadata.annotations, [baseKey]: base };
  hostCluster.put(resource, { ...copy, metadata: { ...copy.metadata, labels, annotations } });
}
