// Renders an object or a list in the negotiated representation: whole objects, Table rows, or metadata only.
import type { KubeObject } from '../../object/meta/object.ts';
import type { StoredRecord } from '../../store/store.ts';
import { groupVersionOf, type Kind } from '../kinds/kind.ts';
import type { Call } from '../kinds/kit.ts';
import { partial } from './partial-metadata.ts';
import { itemText, shownFromText, wireText, withoutZeroRevision } from './stored-text.ts';
import { tableOf } from './table.ts';

export interface ListMeta {
  revision: number;
  next: string | undefined;
  remaining: number | undefined;
}

export function listItems(call: Call, records: readonly StoredRecord[], meta: ListMeta): string {
  const { kind } = call;
  const metadata = JSON.stringify({
    resourceVersion: String(meta.revision),
    ...(meta.next === undefined ? {} : { continue: meta.next }),
    ...(meta.remaining === undefined || meta.remaining === 0 ? {} : { remainingItemCount: meta.remaining }),
  });
  switch (call.negotiated.representation) {
    case 'object': {
      return `${listHead(kind, metadata)}${records.map((record) => itemText(record.value, kind, record.revision, call.kit.dialect)).join(',')}]}`;
    }
    case 'table': {
      const objects = records.map((record) => shownFromText(record.value, kind, record.revision));
      return JSON.stringify({ ...tableOf(call, objects), metadata: JSON.parse(metadata) });
    }
    case 'metadata': {
      const items = records.map((record) =>
        partial(shownFromText(record.value, kind, record.revision), call.negotiated),
      );
      const apiVersion = `meta.k8s.io/${call.negotiated.formVersion}`;
      const head = { kind: 'PartialObjectMetadataList', apiVersion };
      return JSON.stringify({ ...head, metadata: JSON.parse(metadata), items });
    }
    default:
      return call.negotiated.representation satisfies never;
  }
}

/** The JSON text of a list, up to the first item. */
export function listHead(kind: Kind, metadata: string): string {
  return `{"kind":"${kind.kind}List","apiVersion":"${groupVersionOf(kind)}","metadata":${metadata},"items":[`;
}

export function oneObject(call: Call, text: string, revision: number): string {
  const { kind } = call;
  switch (call.negotiated.representation) {
    case 'object':
      return wireText(text, kind, revision);
    case 'table': {
      const object = withoutZeroRevision(shownFromText(text, kind, revision));
      const metadata = { resourceVersion: object.metadata.resourceVersion };
      return JSON.stringify({ ...tableOf(call, [object]), metadata });
    }
    case 'metadata':
      return JSON.stringify(partial(withoutZeroRevision(shownFromText(text, kind, revision)), call.negotiated));
    default:
      return call.negotiated.representation satisfies never;
  }
}

/** Adds kind and apiVersion to an object that is never stored, e.g. a review. */
export function stamped(kind: Kind, object: KubeObject): KubeObject {
  const { metadata, kind: _kind, apiVersion: _apiVersion, ...rest } = object;
  return { kind: kind.kind, apiVersion: groupVersionOf(kind), metadata: metadata ?? {}, ...rest };
}
