// The lines of a watch. A change is encoded once for each form of it and the bytes are shared by all who watch in that form.
import type { KubeObject } from '../../object/meta/object.ts';
import type { Status } from '../../object/meta/status.ts';
import type { StoredRecord, StoreEvent } from '../../store/store.ts';
import { groupVersionOf, type Kind } from '../kinds/kind.ts';
import type { Call } from '../kinds/kit.ts';
import { partial } from '../wire/partial-metadata.ts';
import { shownFromText, wireText } from '../wire/stored-text.ts';
import { tableOf } from '../wire/table.ts';
import type { Selection } from './selection.ts';

type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

interface Seen {
  type: ChangeType;
  text: string;
  revision: number;
}

/** Keyed by the store's own event: it lives as long as somebody may still need it. */
const frames = new WeakMap<StoreEvent, Map<string, Buffer>>();

interface Parsed {
  value: KubeObject;
  previous: KubeObject | undefined;
}

/** An event is parsed once for all watches that look into it. */
const objectsOfEvents = new WeakMap<StoreEvent, Map<Kind, Parsed>>();

function parsed(event: StoreEvent, kind: Kind): Parsed {
  let byKind = objectsOfEvents.get(event);
  if (byKind === undefined) {
    byKind = new Map();
    objectsOfEvents.set(event, byKind);
  }
  let objects = byKind.get(kind);
  if (objects === undefined) {
    const { value, previous, revision } = event;
    const shown = shownFromText(value, kind, revision);
    const isSame = previous === value;
    const before = isSame || previous === undefined ? undefined : shownFromText(previous, kind, revision);
    objects = { value: shown, previous: isSame ? shown : before };
    byKind.set(kind, objects);
  }
  return objects;
}

export class WatchFrames {
  #call: Call;
  #selection: Selection;
  /** What distinguishes one form of a frame from another, type of the change apart. */
  #form: string;
  #columnsSent = false;

  constructor(call: Call, selection: Selection) {
    this.#call = call;
    this.#selection = selection;
    const { kind, negotiated, target } = call;
    const include = negotiated.representation === 'table' ? (target.query.get('includeObject') ?? '') : '';
    this.#form = `${groupVersionOf(kind)} ${negotiated.representation} ${include}`;
  }

  initial(record: StoredRecord): Buffer {
    return this.#encode({ type: 'ADDED', text: record.value, revision: record.revision });
  }

  /** Undefined when the change is outside the selection before and after. */
  change(event: StoreEvent): Buffer | undefined {
    const seen = this.#seen(event);
    if (seen === undefined) return undefined;
    // A first row brings its columns; ages in tables are of the moment and shared for it only.
    if (this.#call.negotiated.representation === 'table' && !this.#columnsSent) return this.#encode(seen);
    let known = frames.get(event);
    if (known === undefined) {
      known = new Map();
      frames.set(event, known);
    }
    const form = `${seen.type} ${this.#form}`;
    let frame = known.get(form);
    if (frame === undefined) {
      frame = this.#encode(seen);
      known.set(form, frame);
    }
    return frame;
  }

  bookmark(revision: number, endsInitialEvents: boolean): Buffer {
    const annotations = endsInitialEvents ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
    const metadata = { resourceVersion: String(revision), ...annotations };
    const { kind, negotiated } = this.#call;
    const object: KubeObject =
      negotiated.representation === 'metadata'
        ? partial({ metadata })
        : { kind: kind.kind, apiVersion: groupVersionOf(kind), metadata };
    const shown = negotiated.representation === 'table' ? this.#table(object) : object;
    return frame('BOOKMARK', JSON.stringify(shown));
  }

  error(status: Status): Buffer {
    return frame('ERROR', JSON.stringify(status));
  }

  /** The change as this selection sees it: what leaves it is deleted, what enters it is new. */
  #seen(event: StoreEvent): Seen | undefined {
    const { type, value, revision } = event;
    // A delete shows the object's last form with the revision of its end.
    if (this.#selection.takesAll) {
      const changeType = type === 'delete' ? 'DELETED' : event.previous === undefined ? 'ADDED' : 'MODIFIED';
      return { type: changeType, text: value, revision };
    }
    const objects = parsed(event, this.#call.kind);
    const before = objects.previous !== undefined && this.#selection.matches(objects.previous);
    const after = type === 'put' && this.#selection.matches(objects.value);
    if (after) return { type: before ? 'MODIFIED' : 'ADDED', text: value, revision };
    if (!before && !(type === 'delete' && event.previous === undefined && this.#selection.matches(objects.value))) {
      return undefined;
    }
    return { type: 'DELETED', text: event.previous ?? value, revision };
  }

  #encode({ type, text, revision }: Seen): Buffer {
    const { kind, negotiated } = this.#call;
    switch (negotiated.representation) {
      case 'object':
        return frame(type, wireText(text, kind, revision));
      case 'metadata':
        return frame(type, JSON.stringify(partial(shownFromText(text, kind, revision))));
      case 'table':
        return frame(type, JSON.stringify(this.#table(shownFromText(text, kind, revision))));
      default:
        return negotiated.representation satisfies never;
    }
  }

  #table(object: KubeObject): object {
    const table = tableOf(this.#call, [object], !this.#columnsSent);
    this.#columnsSent = true;
    return { ...table, metadata: { resourceVersion: object.metadata.resourceVersion } };
  }
}

function frame(type: string, json: string): Buffer {
  return Buffer.from(`{"type":"${type}","object":${json}}\n`);
}
