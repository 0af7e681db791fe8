// Serves DELETE on a list: deletes what a list with the same query would show, each object through the same pipeline as a
// single delete.
import type { KubeObject } from '../../object/meta/object.ts';
import type { Call, Outcome } from '../kinds/kit.ts';
import { StatusFault } from '../request/status-fault.ts';
import { fromStoredText, shown, storagePrefix } from '../wire/stored-text.ts';
import { collect } from './collect-records.ts';
import { deleteObject } from './delete-object.ts';
import { listKindOf, nextPage, startOf } from './read-objects.ts';
import { listQuery } from './revision-query.ts';
import { selectionOf } from './selection.ts';
import type { DeleteOptions } from './write-options.ts';

export async function deleteCollection(call: Call, options: DeleteOptions): Promise<Outcome> {
  const { kind, target } = call;
  const query = listQuery(target.query);
  const selection = selectionOf(call);
  const prefix = storagePrefix(kind, target.namespace);
  const listed = await collect(call, selection, { prefix, limit: query.limit, ...(await startOf(call, query)) });
  const items: KubeObject[] = [];
  for (const record of listed.records) {
    const object = fromStoredText(record.value, kind, record.revision);
    const { name = '', namespace = '' } = object.metadata;
    try {
      await deleteObject({ ...call, target: { ...target, name, namespace } }, options);
    } catch (error) {
      // A 404 means that another client deleted the object first, which is the wanted result.
      if (!(error instanceof StatusFault) || error.code !== 404) throw error;
    }
    const { kind: _kind, apiVersion: _apiVersion, ...item } = shown(object, kind);
    items.push(item);
  }
  const metadata = { resourceVersion: String(listed.revision), ...nextPage(call, listed, prefix) };
  return { kind: 'value', code: 200, value: { ...listKindOf(kind), metadata, items } };
}
