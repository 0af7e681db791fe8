// Content that may stay although nothing is counted that refers to it: an object whose patches fail may name it (DESIGN 4.9), or a copy of a kind
// that is switched off (DESIGN 3.2). In: a calm point and the references of its objects. Out: objects that may be there.

import { type Claim, type NameOnHost, render } from './claims.ts';
import { type ContentKind, isContent, openMarks, type References } from './content.ts';
import { payloadOf } from './left-imports.ts';
import type { History } from './words/history.ts';
import { annotationsOf, keyOf, objectKey, own } from './words/json.ts';
import { IMPORTED_FROM } from './words/marks.ts';
import type { PatchEntry, Settings, SyncedKind } from './words/settings.ts';
import type { ExpectedObject, PlainKind, PlainObject } from './words/types.ts';

const syncedKinds: readonly SyncedKind[] = ['Endpoints', 'EndpointSlice'];

const canName = (entries: readonly PatchEntry[], kind: ContentKind): boolean =>
  entries.some(
    ({ reference }) => reference !== undefined && (reference.kind === kind || reference.kindPath !== undefined),
  );

/** DESIGN 4.9 does not say whether an object names what stands behind the patch that fails, so either is right. */
function eachAlone(patches: Settings['patches'], kind: SyncedKind): Settings['patches'][] {
  return patches[kind].map((entry) => ({ ...patches, [kind]: [entry] }));
}

export class KeptContent {
  private readonly history: History;
  private readonly configurations: readonly Settings[];
  private readonly references: References;
  private readonly failing: readonly Claim[];

  constructor(
    history: History,
    of: { configurations: readonly Settings[]; references: References; failing: readonly Claim[] },
  ) {
    this.history = history;
    this.configurations = of.configurations;
    this.references = of.references;
    this.failing = of.failing;
  }

  /**
   * DESIGN 3.2 and 4.12 together: what a switched-off kind left on the host is not touched and may name content, so content goes with its last
   * reference only when every kind whose patches can name it is switched on.
   */
  private mayBeNamedUntouched(kind: ContentKind): boolean {
    const { isOn, patches } = this.configurations.at(-1) as Settings;
    return syncedKinds.some((synced) => !isOn[synced] && canName(patches[synced], kind));
  }

  /**
   * A copy without a reference: as it was at the last calm point or as its source was at a moment since then. None that nothing has asked for
   * since it was not there.
   */
  copyOf(host: PlainObject): ExpectedObject | undefined {
    if (!isContent(host.kind) || !this.references.isOwnCopy(host)) return undefined;
    const annotations = annotationsOf(host);
    const name = own(annotations, 'vcluster.loft.sh/object-name') ?? '';
    const key = keyOf(host.kind, own(annotations, 'vcluster.loft.sh/object-namespace') ?? '', name);
    if (!this.mayBeNamed(key, host.metadata.name) && !this.mayBeNamedUntouched(host.kind)) return undefined;
    const last = this.history.last('host', objectKey(host));
    if (last === undefined && !this.wasAskedFor(key) && !this.wasNamedOnHost(name)) return undefined;
    const sources = this.history.versions('virtual', key);
    const made = sources.map((source) => this.references.rendered(source, host.metadata, host.kind as ContentKind));
    const choices = last === undefined ? made : [last, ...made];
    const object = choices.find((one) => payloadOf(one) === payloadOf(host)) ?? choices[0];
    const because = 'DESIGN 3.2 and 4.12: what is not touched may name it';
    return object && { side: 'host', object, open: openMarks, exists: 'may', because };
  }

  /** Imports without a reference. */
  get imports(): readonly ExpectedObject[] {
    const { history, references } = this;
    return history.keysOf('virtual').flatMap((key): ExpectedObject[] => {
      const now = history.now('virtual', key);
      if (now === undefined || !isContent(now.kind) || references.isAsked(key)) return [];
      const mark = own(annotationsOf(now), IMPORTED_FROM);
      const isOfNow = mark !== undefined && references.importable(key)?.metadata.uid === mark;
      const isOpen = this.mayBeNamed(key, now.metadata.name) || this.mayBeNamedUntouched(now.kind);
      if (!isOfNow || !isOpen) return [];
      const wasThere = own(annotationsOf(history.start('virtual', key)), IMPORTED_FROM) === mark;
      const expected = wasThere || this.wasAskedFor(key) ? references.importOf(key) : undefined;
      return expected === undefined ? [] : [{ ...expected, exists: 'may' }];
    });
  }

  /** The host may have written the name, which then has flowed back, and another one after it: of what the daemon writes, only the last is known. */
  private wasNamedOnHost(name: string): boolean {
    return this.history
      .everKeysOf('host')
      .filter((key) => syncedKinds.some((kind) => key.startsWith(`${kind} `)))
      .flatMap((key) => this.history.versions('host', key))
      .some((host) => Object.values(annotationsOf(host)).includes(name));
  }

  /** By the old copy of an object that fails, or by those of its patches that do not. */
  private mayBeNamed(key: string, hostName: string): boolean {
    return this.failing.some(({ virtual, hostKey }) => {
      const copies = [...this.history.versions('host', hostKey), this.history.now('host', hostKey)];
      if (copies.some((copy) => Object.values(annotationsOf(copy)).includes(hostName))) return true;
      return this.wasAskedFor(key, [objectKey(virtual)]);
    });
  }

  /** Whether an object that was there at some moment since the last calm point names it, under a configuration of that time. */
  private wasAskedFor(key: string, by = this.history.everKeysOf('virtual')): boolean {
    let isAsked = false;
    const nameOnHost: NameOnHost = (kind, namespace, name, entry) => {
      isAsked ||= keyOf(kind as PlainKind, namespace, name) === key;
      return this.references.name(kind, namespace, name, entry);
    };
    for (const settings of this.configurations)
      for (const objectKind of syncedKinds)
        for (const virtualKey of by)
          if (settings.isOn[objectKind] && virtualKey.startsWith(`${objectKind} `))
            for (const virtual of this.history.versions('virtual', virtualKey))
              for (const patches of [settings.patches, ...eachAlone(settings.patches, objectKind)])
                render({ settings: { ...settings, patches }, virtual, host: undefined, nameOnHost });
    return isAsked;
  }
}
