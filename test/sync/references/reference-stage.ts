import { generatedName } from '../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import type { NamespaceMapping } from '../../../src/sync/plan/placement.ts';
import { ReferenceWorld, secret } from './fake-references.ts';

/** The world of the running test. */
export let world: ReferenceWorld;
export const start = async (...given: Parameters<typeof ReferenceWorld.started>): Promise<ReferenceWorld> => {
  world = await ReferenceWorld.started(...given);
  return world;
};
/** A virtual Secret and an Endpoints that refers to it. */
export const startReferring = (): Promise<ReferenceWorld> =>
  start({}, (w) => {
    w.virtual.put('secrets', secret('db'));
    w.refer({ k: 'db' });
  });

export const nameOf = (name: string, namespace = 'default') => generatedName({ name, namespace }, 'vc');
export const dataOf = (object: KubeObject | undefined) =>
  (object?.['data'] as Record<string, string> | undefined)?.['value'];
export const markOf = (object: KubeObject | undefined) => object?.metadata.annotations?.['hostward.dev/imported-from'];
export const team: NamespaceMapping = {
  hostNamespaceOf: (one) => (one === 'default' ? 'team' : undefined),
  mappingsOnly: true,
};

export function change(
  server: ReferenceWorld['host'],
  resource: string,
  object: KubeObject | undefined,
  to: (draft: KubeObject) => void,
) {
  return world.change(() => {
    const draft = structuredClone(object as KubeObject);
    to(draft);
    server.put(resource, draft);
  });
}
