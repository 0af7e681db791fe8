// What clients over HTTP ask of widgets, and read from the answers.
import type { HttpReply } from '../../../apiserver/shop/widgets.ts';
import { wordOf } from '../play/long-values.ts';
import type { Selection, Thing } from './judge-http.ts';

const at = '/apis/shop.example/v1';

export function collectionOf(namespace: string): string {
  return `${at}/namespaces/${namespace}/widgets`;
}

export interface Item {
  metadata: {
    namespace: string;
    name: string;
    resourceVersion?: string;
    labels?: { side?: string };
    annotations?: Record<string, string>;
  };
  spec: { size: string };
}

export function thingOf(item: unknown, revision?: number): Thing {
  const { metadata, spec } = item as Item;
  const { namespace, name, labels, resourceVersion } = metadata;
  return {
    ...{ key: `${namespace}/${name}`, revision: revision ?? Number(resourceVersion) },
    ...{ value: wordOf(spec.size), side: labels?.side ?? '' },
  };
}

export function pageOf({ status, json, text }: HttpReply) {
  if (status !== 200) throw new Error(`list over HTTP: wanted 200, found ${status}: ${text}`);
  return json as unknown as {
    metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
    items: Item[];
  };
}

export function pathOf({ namespace }: Selection): string {
  return namespace === '' ? `${at}/widgets` : collectionOf(namespace);
}

export function queryOf({ name, side }: Selection): URLSearchParams {
  const query = new URLSearchParams();
  if (name !== undefined) query.set('fieldSelector', `metadata.name=${name}`);
  if (side !== undefined) query.set('labelSelector', `side=${side}`);
  return query;
}
