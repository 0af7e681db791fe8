// Finds the kinds that the reference patches of a configuration name, and opens windows onto these kinds. Other kinds are not
// watched; the daemon searches them once for copies that earlier patches left behind.

import { listPages } from '../../cluster/window/list-pages.ts';
import type { Item, Window } from '../../cluster/window/window.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import { checkPermissions, type Permission } from '../../cluster/wire/probe.ts';
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
import type { FoundCopies, FoundCopy } from '../../sync/loop/content/leftovers.ts';
import type { ReferenceSettings } from '../../sync/loop/content/references.ts';
import type { PatchSet } from '../../sync/patch/set/patch-set.ts';
import { importableLabel, markerLabel } from '../../sync/plan/keys/reserved-keys.ts';
import type { DaemonOptions } from '../options/daemon-options.ts';
import { anySliceKind } from '../options/rules-of.ts';

export interface ContentScope {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  payloadFields?: readonly string[];
  showsNamespace?: (namespace: string) => boolean;
}

type Project<T> = (object: KubeObject) => T | undefined;

export interface ContentOpeners {
  virtual: <T extends Item>(ref: ResourceRef, project: Project<T>) => Window<T>;
  /** A window onto every host namespace that may hold copies. */
  host: <T extends Item>(ref: ResourceRef, labelSelector: string, project: Project<T>) => Window<T>;
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
    copies: open.host(resource, `${markerLabel}=${virtualClusterName}`, (object) =>
      projectCopy(object, virtualClusterName),
    ),
    importable: open.host(resource, `${importableLabel}=true`, (object) =>
      projectImportable(object, virtualClusterName),
    ),
  };
}

export interface CopySearch {
  host: Connection;
  virtualClusterName: string;
  /** Host namespaces that may hold copies; undefined = all of them. */
  copyNamespaces: readonly (string | undefined)[];
  signal: AbortSignal;
}

/** Checks the permission first, because a refused request looks like an attack in the audit log of the host. */
export async function findCopies({ resource }: ContentKind, search: CopySearch): Promise<FoundCopies> {
  const { host, virtualClusterName, copyNamespaces, signal } = search;
  const rights = copyNamespaces.flatMap((namespace) =>
    (['list', 'delete'] as const).map(
      (verb): Permission => ({ verb, group: '', resource: resource.resource, namespace }),
    ),
  );
  const [missing] = await checkPermissions(host, rights);
  if (missing !== undefined) return { kind: 'forbidden', message: missing.message };
  const copies: FoundCopy[] = [];
  const accept = (object: KubeObject): void => {
    const copy = projectCopy(object, virtualClusterName);
    if (copy === undefined) return;
    const { content: _, ...found } = copy;
    copies.push(found);
  };
  for (const namespace of copyNamespaces) {
    const labelSelector = `${markerLabel}=${virtualClusterName}`;
    const scope = { ref: resource, namespace, labelSelector, fieldSelector: undefined };
    const result = await listPages({ connection: host, scope, signal, page: () => {}, accept });
    if (result.kind === 'failed' && result.answer.kind === 'forbidden')
      return { kind: 'forbidden', message: `not allowed to list ${resource.resource}` };
    if (result.kind !== 'listed') return { kind: 'failed' };
  }
  return { kind: 'found', copies };
}
