// Reads the references in a virtual object without running any patch. It finds what a pass over the object would find, except
// references in values that an expression of the same configuration makes.
import type { Translation } from '../../plan/draft.ts';
import { entriesOf } from '../../plan/keys/key-rules.ts';
import type { HostItem, VirtualItem } from '../../plan/kind.ts';
import type { Reference } from '../../references/reference-names.ts';
import type { PatchSet } from '../set/patch-set.ts';
import { plainMap } from '../set/view.ts';
import { readReference } from './reference-patch.ts';

export function* namesIn(virtual: VirtualItem, { patches }: PatchSet, translation: Translation): Iterable<Reference> {
  const referring = patches.filter(({ reference }) => reference !== undefined);
  if (referring.length === 0) return;
  const spelled = (map: 'labels' | 'annotations'): [string, string][] =>
    [...entriesOf(virtual[map])].map(([key, value]) => [translation[map].toHost(key) ?? key, value]);
  const view = {
    metadata: { labels: plainMap(spelled('labels')), annotations: plainMap(spelled('annotations')) },
    ...translation.kind.payloadOf(virtual as unknown as HostItem),
  };
  for (const { reference, path } of referring) {
    const matches = path.match(view);
    for (let at = 0; at < matches.values.length; at++) {
      const read = reference && readReference(reference, matches, at);
      if (read?.kind !== 'ok') continue;
      const { kind, namespace, names } = read.spelled;
      for (const { text } of names) yield { kind, namespace: namespace?.text ?? virtual.namespace, name: text };
    }
  }
}
