// What the references of patches may do and ask through an engine: write with its writers, look objects of its kinds up, and have
// an object looked at again.

import { permittedWriter } from '../../cluster/write/permitted-writer.ts';
import type { Key } from '../../object/meta/object.ts';
import { readReference } from '../patch/entry/reference-patch.ts';
import type { PatchSet } from '../patch/set/patch-set.ts';
import { plainMap } from '../patch/set/view.ts';
import type { Translation } from '../plan/draft.ts';
import { mapOfKeys } from '../plan/keys/key-rules.ts';
import type { HostItem, VirtualItem } from '../plan/kind.ts';
import type { Reference } from '../references/reference-names.ts';
import type { ReferencePorts } from '../references/reference-ports.ts';
import type { Ledger } from '../world/ledger.ts';
import type { Sync } from './sync.ts';
import type { EngineOptions } from './sync-options.ts';

const serviceKind = 'Service';

/** `syncs`: those of all kinds that have begun. */
export function createReferencePorts(
  { virtualWriter, hostWriter, isDryRun }: Pick<EngineOptions, 'virtualWriter' | 'hostWriter' | 'isDryRun'>,
  { ledger, syncs }: { ledger: Ledger; syncs: ReadonlyMap<string, Sync> },
): ReferencePorts {
  const all = (): Sync[] => [...syncs.values()];
  const isPermitted = (): boolean => all().some(({ options }) => options.isLeader());
  // The kinds differ only in their switches, so what a kind that may write says is true of all of them.
  const any = (): Sync => {
    const one = all().find(({ options }) => options.isLeader()) ?? all()[0];
    if (one === undefined) throw new Error('references were used before a kind that refers had started');
    return one;
  };
  return {
    ledger,
    virtualWriter: permittedWriter(virtualWriter, isPermitted),
    hostWriter: permittedWriter(hostWriter, isPermitted),
    mayWrite: () => isPermitted() && !isDryRun,
    isDryRun,
    rules: () => any().world.rules,
    owner: () => any().world.ownerState(),
    doubtOwner() {
      for (const sync of all()) sync.doubtOwner();
    },
    isListInDoubt: () => all().some(({ massDelete }) => massDelete.guard.size > 0),
    isMentioned: ({ kind, key }, text) => isMentioned(syncs.get(kind), key, text),
    virtualOf(kind) {
      const { virtual, services } = (syncs.get(kind) ?? any()).world.windows;
      if (kind === serviceKind) return services;
      return syncs.has(kind) ? virtual : undefined;
    },
    *namedInText() {
      for (const { world } of all()) {
        const { translation, patcher } = world.rules;
        if (patcher === undefined) continue;
        for (const key of world.windows.virtual.keys()) {
          const virtual = world.windows.virtual.get(key);
          if (virtual !== undefined) yield* namesIn(virtual, patcher.set, translation);
        }
      }
    },
    wakeHeldBack(text) {
      for (const sync of all()) {
        // A pass that is under way has not said yet what it holds back.
        const keys = new Set([...sync.ledger.backflowFailures.keys(), ...sync.queue.runningKeys]);
        for (const key of keys) if (isMentioned(sync, key, text)) sync.enqueue(key);
      }
    },
    enqueue: ({ kind, key }) => syncs.get(kind)?.enqueue(key),
    tell: ({ kind, key }, note) => syncs.get(kind)?.warn(key, note),
  };
}

function isMentioned(sync: Sync | undefined, key: Key, text: string): boolean {
  const place = sync?.world.placeOf(key);
  return place !== undefined && JSON.stringify(sync?.world.hostOf(place) ?? '').includes(text);
}

/**
 * The references in a virtual object, read without running a patch: what a pass would find, except references in values that an
 * expression of the same configuration makes.
 */
function* namesIn(virtual: VirtualItem, { patches }: PatchSet, translation: Translation): Iterable<Reference> {
  const referring = patches.filter(({ reference }) => reference !== undefined);
  if (referring.length === 0) return;
  const spelled = (map: 'labels' | 'annotations'): [string, string][] =>
    [...mapOfKeys(virtual[map])].map(([key, value]) => [translation[map].toHost(key) ?? key, value]);
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
