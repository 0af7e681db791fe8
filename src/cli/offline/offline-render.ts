// Renders objects with their patches, forward and back: it runs the daemon's rules between two clusters in memory. In: a
// configuration and objects. Out: objects, and a message for each object without a result. Prints nothing.

import { rulesOf } from '../../daemon/options/rules-of.ts';
import { type Key, type KubeObject, keyOf } from '../../object/meta/object.ts';
import { inQuotes } from '../../object/text/in-quotes.ts';
import type { TraceEntry } from '../../sync/patch/entry/pass.ts';
import type { OpenedPatcher } from '../../sync/patch/run/open-patcher.ts';
import type { PatchSet } from '../../sync/patch/set/patch-set.ts';
import { isProtectedAnnotation, isProtectedLabel } from '../../sync/patch/set/protected.ts';
import { backflowFailuresIn } from '../../sync/plan/backflow.ts';
import type { PatchFailure } from '../../sync/plan/step.ts';
import { type Rehearsed, rehearse } from '../../sync/report/rehearse.ts';
import { withoutBookkeeping } from '../../sync/report/render.ts';
import { CommandFault, exitCodes } from '../line/context.ts';
import type { GoodConfiguration } from '../line/load-settings.ts';
import { Explanation } from './explanation.ts';
import { isOfflineKind, type OfflineKind, offlineKinds } from './offline-kinds.ts';
import { type OfflineMeans, openOfflinePatches, startSandbox } from './offline-patches.ts';
import { type NamedObject, withoutServerFields } from './print-objects.ts';

export interface OfflineRenderInput {
  configuration: Pick<GoodConfiguration, 'settings' | 'compiled'>;
  /** Virtual Endpoints and EndpointSlices, and Services where they matter. */
  objects: readonly KubeObject[];
  hostObjects: readonly KubeObject[];
  direction: 'forward' | 'back';
  ownerUid?: string | undefined;
  withBookkeeping: boolean;
  isExplained: boolean;
  /** A running patcher of a caller that renders several times; the caller stops it. */
  opened?: OpenedPatcher | undefined;
}

export interface OfflineRender {
  objects: { before: NamedObject; after: NamedObject }[];
  /** isRefusal: the tenant wants the object on the host, and a rule forbids it. */
  notices: Notice[];
  /** For each kind with objects, with --explain. */
  explained: { explanation: Explanation; set: PatchSet; list: string }[];
}

export interface Notice {
  message: string;
  isFailure: boolean;
  isRefusal?: boolean;
  /** The failed patch, and the kind in whose list it is. */
  failed?: { kind: string; failure: PatchFailure };
}

export async function renderOffline(means: OfflineMeans, input: OfflineRenderInput): Promise<OfflineRender> {
  const { settings, compiled } = input.configuration;
  const isAlone = (one: KubeObject) => isOfflineKind(one) && !input.objects.some(({ kind }) => kind === one.kind);
  refuseUnrelated(input.hostObjects.filter(isAlone), [], () => undefined);
  const result: OfflineRender = { objects: [], notices: [], explained: [] };
  let explanation: Explanation | undefined;
  const trace = input.isExplained ? (entry: TraceEntry) => explanation?.add(entry) : undefined;
  const own = input.opened === undefined ? openOfflinePatches(means, input.configuration, trace) : undefined;
  try {
    if (own !== undefined) await startSandbox(() => own.start());
    for (const one of offlineKinds(settings, compiled)) {
      if (!input.objects.some(({ kind }) => kind === one.kind.kind)) continue;
      explanation = input.isExplained ? new Explanation(means.clock) : undefined;
      await renderKind(one, { opened: input.opened ?? own, input, explanation, result });
      if (explanation !== undefined) {
        const list = `${one.kind.settingsPath}.patches`;
        result.explained.push({ explanation, set: one.patches.set, list });
      }
    }
    return result;
  } finally {
    await own?.stop();
  }
}

interface RenderOfKind {
  opened: OpenedPatcher | undefined;
  input: OfflineRenderInput;
  explanation: Explanation | undefined;
  result: OfflineRender;
}

async function renderKind(
  { kind, patches, patcherIn }: OfflineKind,
  { opened, input, explanation, result }: RenderOfKind,
): Promise<void> {
  const { settings } = input.configuration;
  const rules = rulesOf(settings, patcherIn(opened), kind);
  const { placement } = rules.translation;
  const isOfKind = (object: KubeObject): boolean => object.kind === kind.kind;
  const host = input.hostObjects.filter(isOfKind).map((object) => withNamespace(object, settings.hostNamespace));
  const virtual = input.objects.filter(isOfKind).map((object) => withNamespace(object, 'default'));
  refuseUnrelated(host, virtual, (key) => {
    const place = placement.placeOf(key);
    return place && keyOf(place.namespace, place.name);
  });
  const isOwned = settings.setOwner && placement.mode === 'single';
  const rehearsed = await rehearse({
    virtual,
    services: input.objects
      .filter((object) => object.kind === 'Service')
      .map((object) => withNamespace(object, 'default')),
    host,
    rules,
    ownerUid: isOwned ? input.ownerUid : undefined,
    assumesAgreement: input.direction === 'back',
    ...(explanation && { patching: (key, way) => explanation.begin(key, way) }),
  });
  const wording: Wording = { kind: kind.kind, positionOf: (failure) => positionOf(failure, patches.sourceOf) };
  for (const one of rehearsed) {
    const edited = host.find((object) => one.host !== undefined && keyOfObject(object) === keyOfObject(one.host));
    explanation?.saw(one.key, 'forward', patchableIn(one.host ?? one.virtual, kind));
    if (edited !== undefined) explanation?.saw(one.key, 'back', patchableIn(edited, kind));
    for (const { failure } of backflowFailuresIn(one.backflowFailures))
      result.notices.push(failureNotice(one.key, failure, wording));
    const notice = noticeOf(one, wording);
    if (notice !== undefined) {
      result.notices.push(notice);
      if (one.outcome.kind === 'ineligible') explanation?.left(one.key, 'forward');
    } else result.objects.push(pairOf(one, { virtual, host, input }));
  }
}

/** How messages about the objects of a kind are written. */
interface Wording {
  kind: string;
  positionOf(failure: PatchFailure): string;
}

function pairOf(
  one: Rehearsed,
  { virtual, host, input }: { virtual: readonly KubeObject[]; host: readonly KubeObject[]; input: OfflineRenderInput },
): OfflineRender['objects'][number] {
  const wasVirtual = virtual.find((object) => keyOfObject(object) === one.key) as KubeObject;
  const isHost = one.host as KubeObject;
  const hostName = `host ${keyOfObject(isHost)}`;
  if (input.direction === 'back') {
    const before = { name: `virtual ${one.key}`, object: wasVirtual };
    return { before, after: { name: `virtual ${one.key}`, object: withoutServerFields(one.virtual) } };
  }
  const tidy = (object: KubeObject) => (input.withBookkeeping ? object : withoutBookkeeping(object));
  const wasHost = host.find((object) => keyOfObject(object) === keyOfObject(isHost));
  return {
    before: wasHost ? { name: hostName, object: tidy(wasHost) } : { name: `virtual ${one.key}`, object: wasVirtual },
    after: { name: hostName, object: tidy(withoutServerFields(isHost)) },
  };
}

/** Explains why an object has no result; undefined when it has a result. */
function noticeOf({ key, outcome, host }: Rehearsed, wording: Wording): Notice | undefined {
  switch (outcome.kind) {
    case 'inSync':
      return undefined;
    case 'ineligible':
    case 'waiting':
    case 'left':
    case 'retry': {
      const what = host === undefined ? 'has no copy on the host' : 'is left as it is on the host';
      return { message: `${wording.kind} "${key}" ${what}: ${outcome.message}`, isFailure: outcome.kind === 'retry' };
    }
    case 'refused': {
      const { failure, message, detail } = outcome;
      if (failure === undefined) {
        const why = detail === undefined ? message : `${message}: ${detail}`;
        const notice = `${wording.kind} "${key}" has no copy on the host: ${why}`;
        return { message: notice, isFailure: false, isRefusal: true };
      }
      return failureNotice(key, failure, wording);
    }
    default:
      return outcome satisfies never;
  }
}

function failureNotice(key: Key, failure: PatchFailure, wording: Wording): Notice {
  const path =
    failure.patch === undefined ? '' : `; the path of patch ${failure.patch} is ${inQuotes(failure.path ?? '')}`;
  const message = `${wording.positionOf(failure)}: ${wording.kind} "${key}": ${failure.message}${path}`;
  return { message, isFailure: true, failed: { kind: wording.kind, failure } };
}

function positionOf(failure: PatchFailure, sourceOf: GoodConfiguration['compiled']['sourceOf']): string {
  const { source, patch } = failure;
  if (source !== undefined || patch === undefined) return source ?? 'configuration';
  return sourceOf(patch, 'expression') ?? sourceOf(patch, 'path') ?? 'configuration';
}

function refuseUnrelated(
  host: readonly KubeObject[],
  virtual: readonly KubeObject[],
  hostKeyOf: (key: string) => string | undefined,
): void {
  const hostKeys = virtual.map((object) => hostKeyOf(keyOfObject(object))).filter((key) => key !== undefined);
  const unrelated = host.find((object) => !hostKeys.includes(keyOfObject(object)));
  if (unrelated === undefined) return;
  throw new CommandFault(
    exitCodes.input,
    `wanted host objects that are copies of the virtual ones, found ${unrelated.kind} "${keyOfObject(unrelated)}"`,
    {
      hint:
        hostKeys.length === 0
          ? 'no virtual object of this kind has a host copy'
          : `their copies are ${hostKeys.join(', ')}`,
    },
  );
}

function withNamespace(object: KubeObject, namespace: string): KubeObject {
  return object.metadata.namespace ? object : { ...object, metadata: { ...object.metadata, namespace } };
}

/** What a patch may match: without our own keys, and without the fields that are no patch's business. */
function patchableIn({ metadata, ...fields }: KubeObject, kind: OfflineKind['kind']): object {
  const without = (map: Record<string, string> | undefined, isOwn: (key: string) => boolean) =>
    Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !isOwn(key)));
  const isPayload = (field: string) => kind.payloadFields.includes(field) && !kind.protectedFields.includes(field);
  return {
    ...Object.fromEntries(Object.entries(fields).filter(([field]) => isPayload(field))),
    metadata: {
      labels: without(metadata.labels, (key) => isProtectedLabel(key, kind)),
      annotations: without(metadata.annotations, isProtectedAnnotation),
    },
  };
}

function keyOfObject({ metadata }: KubeObject): string {
  return keyOf(metadata.namespace ?? '', metadata.name ?? '');
}
