// Finds the kinds that the reference patches of a configuration name, and opens windows onto these kinds. Other kinds are not
// watched; the daemon searches them once for copies and imports that earlier patches left behind.

import type { Permission } from '../../cluster/permission.ts';
import { listPages } from '../../cluster/window/list-pages.ts';
import type { Item, Window } from '../../cluster/window/window.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import { checkPermissions } from '../../cluster/wire/probe.ts';
import type { ResourceRef } from '../../cluster/wire/scope.ts';
import type { Settings } from '../../config/settings/settings.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import {
  type ContentKind,
  contentKinds,
  projectCopy,
  projectImportable,
  projectVirtualContent,
} from '../../sync/kinds/content/content-kind.ts';
import { endpointsKind } from '../../sync/kinds/endpoints/endpoints-kind.ts';
import type { ContentWindows } from '../../sync/loop/content/content-world.ts';
import type { FoundCopy, FoundImport } from '../../sync/loop/content/left-objects.ts';
import type { SearchAnswer } from '../../sync/loop/content/leftovers.ts';
import type { ReferenceSettings } from '../../sync/loop/content/references.ts';
import type { PatchSet } from '../../sync/patch/set/patch-set.ts';
import { importableLabel, importedLabel, markerLabel } from '../../sync/plan/keys/reserved-keys.ts';
import type { DaemonOptions } from '../options/daemon-options.ts';
import { anySliceKind } from '../options/rules-of.ts';

export interface ContentScope {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  showsNamespace?: (namespace: string) => boolean;
}

type Project<T> = (object: KubeObject) => T | undefined;

export interface ContentOpeners {
  virtual: <T extends Item>(ref: ResourceRef, project: Project<T>) => Window<T>;
  /** A window onto every host namespace that mappings name; with copies, also onto those where a former mapping has left some. */
  host: <T extends Item>(
    ref: ResourceRef,
    labelSelector: string,
    project: Project<T>,
    what: 'copies' | 'importable',
  ) => Window<T>;
}

/** The patches of slices name nothing before slices are first switched on, so that no right is missed before. */
export function referenceSettings(settings: Settings, patches: DaemonOptions['patches']): ReferenceSettings {
  const ofEndpoints = contentNamedBy(patches?.set);
  const ofSlices = contentNamedBy(patches?.slices.set);
  const named = [...ofEndpoints, ...(settings.endpointSlices.enabled ? ofSlices : [])];
  const kinds = contentKinds.filter(({ kind }) => named.includes(kind));
  return {
    naming: settings.references.naming,
    kinds: new Set(kinds.map(({ kind }) => kind)),
    referring: new Map([
      ...(ofEndpoints.length > 0 ? [[endpointsKind.kind, new Set(ofEndpoints)] as const] : []),
      ...(ofSlices.length > 0 ? [[anySliceKind.kind, new Set(ofSlices)] as const] : []),
    ]),
    referrers: new Set([
      ...(settings.endpointsEnabled && refers(patches?.set) ? [endpointsKind.kind] : []),
      ...(settings.endpointSlices.enabled && refers(patches?.slices.set) ? [anySliceKind.kind] : []),
    ]),
    // A kind that is no longer named keeps its copies while an object still refers to them.
    exported: new Set(contentKinds.filter((kind) => isSwitchedOn(kind, settings)).map(({ kind }) => kind)),
  };
}

function refers(set: PatchSet | undefined): boolean {
  return set?.patches.some(({ reference }) => reference !== undefined) ?? false;
}

function contentNamedBy(set: PatchSet | undefined): string[] {
  const names = set?.patches.flatMap(({ reference }) => reference?.reference.kind ?? []) ?? [];
  return names.filter((name) => contentKinds.some(({ kind }) => kind === name));
}

function isSwitchedOn({ switch: name }: ContentKind, { vcluster }: Settings): boolean {
  const sync = vcluster['sync'] as { toHost?: Record<string, { enabled?: unknown }> } | undefined;
  return sync?.toHost?.[name]?.enabled === true;
}

export function openContentWindows(
  { resource }: ContentKind,
  { virtualClusterName, open }: { virtualClusterName: string; open: ContentOpeners },
): ContentWindows {
  return {
    virtual: open.virtual(resource, projectVirtualContent),
    copies: open.host(
      resource,
      `${markerLabel}=${virtualClusterName}`,
      (object) => projectCopy(object, virtualClusterName),
      'copies',
    ),
    importable: open.host(
      resource,
      `${importableLabel}=true`,
      (object) => projectImportable(object, virtualClusterName),
      'importable',
    ),
  };
}

export interface LeftoverSearch {
  virtual: Connection;
  host: Connection;
  virtualClusterName: string;
  /** Host namespaces that may hold copies; undefined = all of them. */
  copyNamespaces: readonly (string | undefined)[];
  signal: AbortSignal;
}

/** Checks the permission first, because a refused request looks like an attack in the audit log of the host. */
export async function findCopies(kind: ContentKind, search: LeftoverSearch): Promise<SearchAnswer<FoundCopy>> {
  const { host, virtualClusterName, copyNamespaces, signal } = search;
  const verbs = ['list', 'delete'] as const;
  // A former mapping may have put copies anywhere.
  const isWide = (await firstMissing(host, kind, { verbs, namespaces: [undefined] })) === undefined;
  const namespaces = isWide ? [undefined] : copyNamespaces;
  const missing = isWide ? undefined : await firstMissing(host, kind, { verbs, namespaces });
  if (missing !== undefined) return { kind: 'forbidden', message: missing };
  const project = (object: KubeObject): FoundCopy | undefined => {
    const copy = projectCopy(object, virtualClusterName);
    if (copy === undefined) return undefined;
    const { content: _, ...found } = copy;
    return found;
  };
  return listAll(host, kind, {
    labelSelector: `${markerLabel}=${virtualClusterName}`,
    namespaces,
    signal,
    project,
  });
}

/** What is found has to be compared with the host. */
export async function findImports(kind: ContentKind, search: LeftoverSearch): Promise<SearchAnswer<FoundImport>> {
  const { virtual, host, copyNamespaces, signal } = search;
  const missing = await firstMissing(virtual, kind, { verbs: ['list', 'delete'], namespaces: [undefined] });
  if (missing !== undefined) return { kind: 'forbidden', message: missing };
  const found = await listAll(virtual, kind, {
    labelSelector: `${importedLabel}=true`,
    namespaces: [undefined],
    signal,
    project: projectVirtualContent,
  });
  if (found.kind !== 'found' || found.objects.length === 0) return found;
  const unreadable = await firstMissing(host, kind, { verbs: ['get'], namespaces: copyNamespaces });
  return unreadable === undefined ? found : { kind: 'forbidden', message: unreadable };
}

async function firstMissing(
  connection: Connection,
  { resource }: ContentKind,
  { verbs, namespaces }: { verbs: readonly Permission['verb'][]; namespaces: readonly (string | undefined)[] },
): Promise<string | undefined> {
  const rights = namespaces.flatMap((namespace) =>
    verbs.map((verb): Permission => ({ verb, group: '', resource: resource.resource, namespace })),
  );
  const [missing] = await checkPermissions(connection, rights);
  return missing?.message;
}

async function listAll<T extends Item>(
  connection: Connection,
  { resource }: ContentKind,
  given: {
    labelSelector: string;
    namespaces: readonly (string | undefined)[];
    signal: AbortSignal;
    project: Project<T>;
  },
): Promise<SearchAnswer<T>> {
  const { labelSelector, namespaces, signal, project } = given;
  const objects: T[] = [];
  const accept = (object: KubeObject): void => {
    const found = project(object);
    if (found !== undefined) objects.push(found);
  };
  for (const namespace of namespaces) {
    const scope = { ref: resource, namespace, labelSelector, fieldSelector: undefined };
    const result = await listPages({ connection, scope, signal, page: () => {}, accept });
    if (result.kind === 'failed' && result.answer.kind === 'forbidden')
      return { kind: 'forbidden', message: `not allowed to list ${resource.resource}` };
    if (result.kind !== 'listed') return { kind: 'failed' };
  }
  return { kind: 'found', objects };
}
