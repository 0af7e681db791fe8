// Finds the kinds that the reference patches of a configuration name, and opens windows onto these kinds. Other kinds are not
// watched; the daemon searches them once for copies that earlier patches left behind.

import { listPages } from '../cluster/window/list-pages.ts';
import type { Item, Window } from '../cluster/window/window.ts';
import type { Connection } from '../cluster/wire/connection.ts';
import { checkPermissions, type Permission } from '../cluster/wire/probe.ts';
import type { ResourceRef } from '../cluster/wire/scope.ts';
import type { Settings } from '../config/settings/settings.ts';
import type { KubeObject } from '../object/meta/object.ts';
import { importableLabel, markerLabel } from '../sync/plan/reserved-keys.ts';
import {
  type ContentKind,
  contentKinds,
  projectCopy,
  projectImportable,
  projectVirtualContent,
} from '../sync/references/content-kind.ts';
import type { ContentWindows } from '../sync/references/content-world.ts';
import type { FoundCopies, FoundCopy } from '../sync/references/leftovers.ts';
import type { ReferenceSettings } from '../sync/references/references.ts';
import type { DaemonOptions } from './daemon-options.ts';

export interface WindowScope {
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

export function referenceSettings(settings: Settings, patches: DaemonOptions['patches']): ReferenceSettings {
  const named = patches?.set.patches.flatMap(({ reference }) => reference?.reference.kind ?? []) ?? [];
  const kinds = contentKinds.filter(({ kind }) => named.includes(kind));
  return {
    naming: settings.references.naming,
    kinds: new Set(kinds.map(({ kind }) => kind)),
    exported: new Set(kinds.filter((kind) => isSwitchedOn(kind, settings)).map(({ kind }) => kind)),
  };
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
