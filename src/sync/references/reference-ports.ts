// What the sync of references uses of the engine whose objects refer. A question is asked of every kind that refers, and a message
// goes to the kind of its object. Types only.
import type { Item, Window } from '../../cluster/window/window.ts';
import type { Writer } from '../../cluster/write/writer.ts';
import type { OwnerState } from '../plan/owner.ts';
import type { Ledger } from '../world/ledger.ts';
import type { Rules } from '../world/sources.ts';
import type { Reference } from './reference-names.ts';
import type { Referrer } from './registry.ts';

export interface ReferencePorts {
  ledger: Ledger;
  virtualWriter: Writer;
  hostWriter: Writer;
  mayWrite: () => boolean;
  isDryRun: boolean;
  rules: () => Rules;
  owner: () => OwnerState;
  /** The owner may be gone, although the window shows it. */
  doubtOwner: () => void;
  isListInDoubt: () => boolean;
  /** Whether the host copy of this object holds the text. */
  isMentioned: (referrer: Referrer, text: string) => boolean;
  /** The virtual objects of a kind, if the engine watches them. */
  virtualOf: (kind: string) => Pick<Window<Item>, 'has' | 'keys'> | undefined;
  /** The references in the virtual objects, as far as their text shows them without running a patch. */
  namedInText: () => Iterable<Reference>;
  /** Looks again at the objects whose copies hold this text where it could not be carried back. */
  wakeHeldBack: (text: string) => void;
  enqueue: (referrer: Referrer) => void;
  tell: (referrer: Referrer, note: { reason: string; message: string }) => void;
}
