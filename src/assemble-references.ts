// Part of the front door: which kinds the reference patches of a configuration name, and the windows onto them. Kinds that no
// patch names are not watched.
import type { DaemonOptions } from './cli/rooms.ts';
import type { Item, Window } from './cluster/window.ts';
import type { ResourceRef } from './cluster/writer.ts';
import type { Settings } from './config/settings.ts';
import type { KubeObject } from './object/object.ts';
import {
  type ContentKind,
  contentKinds,
  projectCopy,
  projectImportable,
  projectVirtualContent,
} from './sync/references/content-kind.ts';
import type { ContentWindows } from './sync/references/content-world.ts';
import type { ReferenceSettings } from './sync/references/references.ts';
import { importableLabel, markerLabel } from './sync/words.ts';

export interface WindowScope {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

type Project<T> = (object: KubeObject) => T | undefined;

export interface ContentOpeners {
  virtual: <T extends Item>(ref: ResourceRef, project: Project<T>) => Window<T>;
  /** Everywhere that copies may stand, whatever the marker label of the scope is. */
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
