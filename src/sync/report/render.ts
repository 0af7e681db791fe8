// Computes host objects without a cluster, with the same translation as the live sync, for `hostward render` and tests. Pure.

import type { KubeObject } from '../../object/meta/object.ts';
import { type Key, keyOf } from '../../object/meta/object.ts';
import { andMore } from '../../object/text/in-words.ts';
import type { AddressPolicy } from '../plan/address-policy.ts';
import { chooseWinner } from '../plan/claims.ts';
import { serviceCollisionMessage } from '../plan/decide/outcomes.ts';
import { draftHost, renderCreate, type Translation } from '../plan/draft.ts';
import { projectService, type ServiceItem, serviceKeyOf, type VirtualItem } from '../plan/kind.ts';
import { ownerReference } from '../plan/owner.ts';
import { type HostPlace, type Placement, sameNamed } from '../plan/placement.ts';

export interface RenderResult {
  objects: { key: string; virtual: KubeObject; host: KubeObject }[];
  /** The reason for each object that gets no host copy. */
  notices: { key: string; reason: string; message: string; isRefusal: boolean }[];
}

export interface RenderOptions {
  translation: Translation;
  policy: AddressPolicy;
  /** uid of the host Service VC; without it no owner reference is printed. */
  ownerUid?: string | undefined;
  setOwner: boolean;
  /** Show hostward.dev/* annotations too. */
  withBookkeeping: boolean;
}

interface Candidate {
  key: string;
  object: KubeObject;
  virtual: VirtualItem;
  place: HostPlace;
  /** The Service that the object belongs to. */
  service: Key;
}

/** Objects count as eligible unless a Service among the input says otherwise. */
export function renderHost(input: readonly KubeObject[], options: RenderOptions): RenderResult {
  const { translation } = options;
  const services = new Map<string, ServiceItem>();
  for (const object of input) {
    if (object.kind !== 'Service') continue;
    const service = projectService(withNamespace(object));
    services.set(keyOf(service.namespace, service.name), service);
  }
  const result: RenderResult = { objects: [], notices: [] };
  const candidates: Candidate[] = [];
  for (const object of input) {
    if (object.kind !== translation.kind.kind) continue;
    const candidate = judge(withNamespace(object), services, { options, result });
    if (candidate !== undefined) candidates.push(candidate);
  }
  for (const candidate of candidates) renderOne(candidate, candidates, { options, result });
  return result;
}

function judge(
  object: KubeObject,
  services: ReadonlyMap<string, ServiceItem>,
  { options, result }: { options: RenderOptions; result: RenderResult },
): Candidate | undefined {
  const { kind, placement } = options.translation;
  const virtual = kind.projectVirtual(object);
  const key = keyOf(virtual.namespace, virtual.name);
  const place = placement.placeOf(key);
  const assumed: ServiceItem = { namespace: virtual.namespace, name: virtual.name, uid: '', resourceVersion: '' };
  const serviceKey = serviceKeyOf(kind, key, virtual);
  const service = serviceKey === undefined ? undefined : (services.get(serviceKey) ?? assumed);
  const verdict = kind.judge(key, { virtual, service, isPlaced: place !== undefined });
  if (verdict.kind === 'ineligible' || place === undefined) {
    const { reason, sentence } =
      verdict.kind === 'ineligible' ? verdict : { reason: 'NotMapped', sentence: 'it has no host namespace' };
    result.notices.push({ key, reason, message: sentence, isRefusal: false });
    return undefined;
  }
  const refusals = options.policy.refusals(kind.addressesOf(kind.translate(virtual, placement)));
  const [first] = refusals;
  if (first !== undefined) {
    const message = `the address policy refuses "${first.address}" (${first.rule})${andMore(refusals.length - 1)}`;
    result.notices.push({ key, reason: 'AddressRefused', message, isRefusal: true });
    return undefined;
  }
  return { key, object, virtual, place, service: serviceKey ?? key };
}

function renderOne(
  candidate: Candidate,
  all: readonly Candidate[],
  { options, result }: { options: RenderOptions; result: RenderResult },
): void {
  const { key, virtual, place, object } = candidate;
  const rivals = all.filter((other) => other.place.name === place.name && other.place.namespace === place.namespace);
  const winner = chooseWinner(
    rivals.map((rival) => ({ key: rival.key, creationTimestamp: rival.virtual.creationTimestamp })),
    undefined,
  );
  if (winner !== undefined && winner !== key) {
    result.notices.push({
      key,
      reason: 'NameCollision',
      message: `its host name "${place.name}" belongs to "${winner}", which is older, or comes first by its name`,
      isRefusal: true,
    });
    return;
  }
  const { translation, ownerUid } = options;
  const { placement } = translation;
  const holder = holderOf(candidate, all, placement);
  if (holder !== undefined && holder !== candidate.service) {
    const name = placement.placeOf(holder)?.name ?? '';
    const message = serviceCollisionMessage({ service: candidate.service, name, holder });
    result.notices.push({ key, reason: 'NameCollision', message, isRefusal: true });
    return;
  }
  const hasOwner = ownerUid !== undefined && options.setOwner && placement.mode === 'single';
  const owner = hasOwner
    ? ownerReference({ kind: 'present', name: placement.virtualCluster, uid: ownerUid }, virtual.hasController === true)
    : undefined;
  const host = renderCreate(virtual, draftHost(virtual, place, translation), { translation, owner });
  result.objects.push({ key, virtual: object, host: options.withBookkeeping ? host : withoutBookkeeping(host) });
}

/** The Service that gets the host name, when other Services with objects in the input get it too. */
function holderOf({ service }: Candidate, all: readonly Candidate[], placement: Placement): Key | undefined {
  const services = [service, ...sameNamed(service, placement)];
  const claimants = all.filter((one) => services.includes(one.service));
  const aged = claimants.map((one) => ({ key: one.service, creationTimestamp: one.virtual.creationTimestamp }));
  return chooseWinner(aged, undefined);
}

/** Removes the annotations that only Hostward reads, to keep the output short. */
export function withoutBookkeeping(object: KubeObject): KubeObject {
  const { annotations } = object.metadata;
  if (annotations === undefined) return object;
  const shown = Object.entries(annotations).filter(([key]) => !key.startsWith('hostward.dev/'));
  return { ...object, metadata: { ...object.metadata, annotations: Object.fromEntries(shown) } };
}

/** The canonical form of an empty namespace. */
function withNamespace(object: KubeObject): KubeObject {
  return object.metadata.namespace ? object : { ...object, metadata: { ...object.metadata, namespace: 'default' } };
}
