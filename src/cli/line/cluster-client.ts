// Plain calls to one API server, for commands that read or change a cluster themselves: the demo and `release`. In: a
// connection. Out: answers as values; expectOk() turns a failed answer into a fault of the environment.
import type { Answer } from '../../cluster/answer.ts';
import { readList } from '../../cluster/window/list-pages.ts';
import type { ApiRequest, Connection } from '../../cluster/wire/connection.ts';
import type { ResourceRef } from '../../cluster/wire/scope.ts';
import type { Preconditions } from '../../cluster/write/writer.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { CommandFault, exitCodes } from './context.ts';

export type Side = 'virtual' | 'host';

export interface ObjectName {
  namespace: string;
  name: string;
}

export class ClusterClient {
  #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get(ref: ResourceRef, object: ObjectName): Promise<Answer> {
    return this.#request({ method: 'GET', path: pathOf(ref, object) });
  }

  create(ref: ResourceRef, object: KubeObject): Promise<Answer> {
    return this.#create(ref, object, '');
  }

  /** What the server would say to it; nothing is stored. */
  wouldCreate(ref: ResourceRef, object: KubeObject): Promise<Answer> {
    return this.#create(ref, object, '?dryRun=All');
  }

  #create(ref: ResourceRef, object: KubeObject, query: string): Promise<Answer> {
    const namespace = object.metadata.namespace ?? '';
    return this.#request({
      method: 'POST',
      path: `${pathOf(ref, { namespace, name: '' })}${query}`,
      body: JSON.stringify(object),
      contentType: 'application/json',
    });
  }

  change(ref: ResourceRef, object: ObjectName, mergePatch: object): Promise<Answer> {
    return this.#request({
      method: 'PATCH',
      path: pathOf(ref, object),
      body: JSON.stringify(mergePatch),
      contentType: 'application/merge-patch+json',
    });
  }

  remove(ref: ResourceRef, object: ObjectName, preconditions?: Preconditions): Promise<Answer> {
    const body = preconditions === undefined ? {} : { preconditions };
    return this.#request({
      method: 'DELETE',
      path: pathOf(ref, object),
      body: JSON.stringify(body),
      contentType: 'application/json',
    });
  }

  /** Lists every object of a namespace, or of the whole cluster when the namespace is empty, page by page. */
  async list(ref: ResourceRef, namespace: string, query: Record<string, string> = {}): Promise<KubeObject[]> {
    const listed = await this.tryList(ref, namespace, query);
    if (listed.kind === 'listed') return listed.objects;
    throw faultOf(listed.answer, `list ${ref.resource}`);
  }

  async tryList(
    ref: ResourceRef,
    namespace: string,
    query: Record<string, string> = {},
  ): Promise<{ kind: 'listed'; objects: KubeObject[] } | { kind: 'failed'; answer: Exclude<Answer, { kind: 'ok' }> }> {
    const objects: KubeObject[] = [];
    let next = '';
    do {
      const parameters = new URLSearchParams({
        ...query,
        limit: String(pageSize),
        ...(next === '' ? {} : { continue: next }),
      });
      const path = `${pathOf(ref, { namespace, name: '' })}?${parameters}`;
      const answer = await this.#request({ method: 'GET', path, maxBytes: pageBytesLimit });
      if (answer.kind !== 'ok') return { kind: 'failed', answer };
      const page = readList(answer.object, ref);
      if (page.kind === 'fault')
        throw new CommandFault(exitCodes.environment, `cannot list ${ref.resource}: ${page.message}`);
      objects.push(...(page.items as KubeObject[]));
      next = page.continueToken ?? '';
    } while (next !== '');
    return { kind: 'listed', objects };
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #request(request: ApiRequest): Promise<Answer> {
    return this.#connection.request(request);
  }
}

const pageSize = 500;
/** A page of objects that all have the largest size an API server stores. */
const pageBytesLimit = 1024 * 1024 * 1024;

function pathOf(ref: ResourceRef, { namespace, name }: ObjectName): string {
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `/${ref.path}${scope}/${ref.resource}${name === '' ? '' : `/${encodeURIComponent(name)}`}`;
}

/** Returns the object, or throws a fault of the environment with the server's message. */
export function expectOk(answer: Answer, action: string): KubeObject {
  if (answer.kind === 'ok') return answer.object;
  throw faultOf(answer, action);
}

export function faultOf(answer: Exclude<Answer, { kind: 'ok' }>, action: string): CommandFault {
  const said = 'message' in answer ? answer.message : answer.reason;
  const hint = 'fix' in answer && typeof answer.fix === 'string' && answer.fix !== '' ? { hint: answer.fix } : {};
  return new CommandFault(exitCodes.environment, `cannot ${action}: ${said}`, hint);
}
