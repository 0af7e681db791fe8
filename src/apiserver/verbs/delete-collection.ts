// Serves DELETE on a list: deletes what a list with the same query would show, each object through the same pipeline as a
// single delete.
import type { Call, VerbOutcome } from '../kinds/kit.ts';
import { StatusFault } from '../request/status-fault.ts';
import { fromStoredText, storagePrefix } from '../wire/stored-text.ts';
import { collect } from './collect-records.ts';
import { deleteObject } from './delete-object.ts';
import { listOf, nextPage, startOf } from './read-objects.ts';
import { listQuery } from './revision-query.ts';
import { selectionOf } from './selection.ts';
import type { DeleteOptions } from './write-options.ts';

/** Objects between two turns of the event loop. */
const turnObjects = 100;

export async function deleteCollection(call: Call, options: DeleteOptions): Promise<VerbOutcome> {
  const { kind, target } = call;
  const query = listQuery(target.query);
  const selection = selectionOf(call);
  const prefix = storagePrefix(kind, target.namespace);
  const listed = await collect(call, selection, { prefix, limit: query.limit, ...(await startOf(call, query)) });
  let count = 0;
  for (const record of listed.records) {
    const object = fromStoredText(record.value, kind, record.revision);
    const { name = '', namespace = '' } = object.metadata;
    try {
      await deleteObject({ ...call, target: { ...target, name, namespace } }, options);
    } catch (error) {
      // A 404 means that another client deleted the object first, which is the wanted result.
      if (!(error instanceof StatusFault) || error.code !== 404) throw error;
    }
    // A dry run waits for nothing that gives others a turn.
    if (++count % turnObjects === 0) await new Promise((resolve) => setImmediate(resolve));
    await call.works?.();
  }
  const { continue: next } = nextPage(call, listed, prefix);
  const whole = { ...call, negotiated: { ...call.negotiated, representation: 'object' as const } };
  return listOf(whole, { revision: listed.revision, next, remaining: undefined }, listed.records);
}
