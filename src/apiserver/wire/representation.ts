// Renders an object or a list in the negotiated representation: whole objects, Table rows, or metadata only.
import type { KubeObject } from '../../object/meta/object.ts';
import type { StoredRecord } from '../../store/store.ts';
import { groupVersionOf, type Kind } from '../kinds/kind.ts';
import type { Call } from '../kinds/kit.ts';
import { partial } from './partial-metadata.ts';
import { itemText, shownFromText, wireText, withoutZeroRevision } from './stored-text.ts';
import { rowsOf, tableOf } from './table.ts';

export interface ListMeta {
  revision: number;
  next: string | undefined;
  remaining: number | undefined;
}

/** Writes a list in the negotiated form, item by item, so that a long list is never in memory as a whole. */
export interface ListWriter {
  head: string;
  item(record: StoredRecord): string;
  separator: string;
  tail: string;
}

/** `empty`: the whole text of a list without items. */
export function listWriter(call: Call, meta: ListMeta): ListWriter & { empty: string } {
  const {
    form,
    list,
    item,
    none = [],
  } = listForm(call, {
    resourceVersion: String(meta.revision),
    ...(meta.next === undefined ? {} : { continue: meta.next }),
    ...(meta.remaining === undefined || meta.remaining === 0 ? {} : { remainingItemCount: meta.remaining }),
  });
  const head = `${JSON.stringify(form).slice(0, -1)},"${list}":`;
  return { head: `${head}[`, item, separator: ',', tail: ']}', empty: `${head}${JSON.stringify(none)}}` };
}

/** The same list in YAML; `dump` writes one value. */
export function yamlListWriter(call: Call, meta: ListMeta, dump: (value: unknown) => string): ListWriter {
  const json = listWriter(call, meta);
  const head = JSON.parse(json.empty) as Record<string, unknown>;
  const list = Object.keys(head).at(-1) as string;
  const { [list]: _none, ...others } = head;
  const opening = `${list}:\n`;
  return {
    head: dump(others) + opening,
    item: (record) => dump({ [list]: [JSON.parse(json.item(record))] }).slice(opening.length),
    separator: '',
    tail: '',
  };
}

interface ListForm {
  /** The members before the list. */
  form: object;
  /** The name of the list. */
  list: string;
  /** The JSON of an item. */
  item(record: StoredRecord): string;
  /** The value of a list without items. */
  none?: [] | null;
}

function listForm(call: Call, metadata: object): ListForm {
  const { kind, kit, negotiated } = call;
  const shownOf = (record: StoredRecord) => shownFromText(record.value, kind, record.revision);
  switch (negotiated.representation) {
    case 'object':
      return {
        form: { kind: `${kind.kind}List`, apiVersion: groupVersionOf(kind), metadata },
        list: 'items',
        item: (record) => itemText(record.value, kind, record.revision, kit.dialect),
      };
    case 'table': {
      const { rows: _none, ...head } = tableOf(call, []);
      const row = rowsOf(call);
      return {
        form: { ...head, metadata },
        list: 'rows',
        item: (record) => JSON.stringify(row(shownOf(record))),
      };
    }
    case 'metadata':
      return {
        form: { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${negotiated.formVersion}`, metadata },
        list: 'items',
        // As kube-apiserver, whose clients must be able to read it.
        none: null,
        item: (record) => JSON.stringify(partial(shownOf(record), negotiated)),
      };
    default:
      return negotiated.representation satisfies never;
  }
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
