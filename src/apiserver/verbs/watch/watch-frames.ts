// Encodes the lines of a watch. Each change is encoded once for each form, and all watches of the form share the bytes.
import type { KubeObject } from '../../../object/meta/object.ts';
import type { Status } from '../../../object/meta/status.ts';
import type { StoredRecord, StoreEvent } from '../../../store/store.ts';
import { groupVersionOf, type Kind } from '../../kinds/kind.ts';
import type { Call } from '../../kinds/kit.ts';
import { partial } from '../../wire/partial-metadata.ts';
import { shownFromText, wireText } from '../../wire/stored-text.ts';
import { tableOf } from '../../wire/table.ts';
import type { Selection } from '../selection.ts';

type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

interface SelectedChange {
  type: ChangeType;
  text: string;
  revision: number;
}

/** Weak keys: the frames of an event must go when the last watch has dropped the event. */
const frames = new WeakMap<StoreEvent, Map<string, Buffer>>();

interface ParsedEvent {
  value: KubeObject;
  previous: KubeObject | undefined;
}

/** All watches share one parsed form of an event. */
const objectsOfEvents = new WeakMap<StoreEvent, Map<Kind, ParsedEvent>>();

function parsed(event: StoreEvent, kind: Kind): ParsedEvent {
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
  /** Key for sharing frames: kind, representation and includeObject. */
  #form: string;
  #columnsSent = false;

  constructor(call: Call, selection: Selection) {
    this.#call = call;
    this.#selection = selection;
    const { kind, negotiated, target } = call;
    const include = negotiated.representation === 'table' ? (target.query.get('includeObject') ?? '') : '';
    this.#form = `${groupVersionOf(kind)} ${negotiated.representation} ${negotiated.formVersion} ${include}`;
  }

  initial(record: StoredRecord): Buffer {
    return this.#encode({ type: 'ADDED', text: record.value, revision: record.revision });
  }

  /** Undefined when the selection matches the object neither before nor after the change. */
  change(event: StoreEvent): Buffer | undefined {
    const selected = this.#selectedChange(event);
    if (selected === undefined) return undefined;
    // The first row of a table watch includes the columns, so its frame cannot be shared.
    if (this.#call.negotiated.representation === 'table' && !this.#columnsSent) return this.#encode(selected);
    let known = frames.get(event);
    if (known === undefined) {
      known = new Map();
      frames.set(event, known);
    }
    const form = `${selected.type} ${this.#form}`;
    let frame = known.get(form);
    if (frame === undefined) {
      frame = this.#encode(selected);
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
        ? partial({ metadata }, negotiated)
        : { kind: kind.kind, apiVersion: groupVersionOf(kind), metadata };
    const shown = negotiated.representation === 'table' ? this.#table(object) : object;
    return frame('BOOKMARK', JSON.stringify(shown));
  }

  error(status: Status): Buffer {
    return frame('ERROR', JSON.stringify(status));
  }

  /** Maps the change to this selection: an object that leaves the selection is DELETED, an object that enters it is ADDED. */
  #selectedChange(event: StoreEvent): SelectedChange | undefined {
    const { type, value, revision } = event;
    // A delete carries the object's last form and the revision of the delete.
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

  #encode({ type, text, revision }: SelectedChange): Buffer {
    const { kind, negotiated } = this.#call;
    switch (negotiated.representation) {
      case 'object':
        return frame(type, wireText(text, kind, revision));
      case 'metadata':
        return frame(type, JSON.stringify(partial(shownFromText(text, kind, revision), negotiated)));
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
