// A small fault: one place of one file that says something else. It is planted in a copy of the house, and the suites there must notice.
import { createHash } from 'node:crypto';

/** The parts of the house that must not have a fault which nobody sees. */
export const rooms = ['engine', 'kit', 'store', 'rights', 'proxy', 'expressions'] as const;
export type MutatedRoom = (typeof rooms)[number];

export interface Mutant {
  /** One line that names it, the same as long as its place is the same. */
  name: string;
  room: MutatedRoom;
  file: string;
  /** The text of the file with the fault. */
  plant(text: string): string;
  /** The suite that is known to notice it: it is asked first. Those with one make the short list. */
  noticedBy?: string;
}

export const folders: Readonly<Record<MutatedRoom, readonly string[]>> = {
  engine: ['src/sync/', 'src/queue/', 'src/cluster/'],
  kit: ['src/apiserver/'],
  store: ['src/store/'],
  rights: ['src/management/scope/', 'src/management/keys/', 'src/management/credentials/', 'src/devcluster/rbac/'],
  proxy: ['src/management/proxy/'],
  expressions: ['src/expression/'],
};

export function roomOf(file: string): MutatedRoom | undefined {
  return rooms.find((room) => folders[room].some((folder) => file.startsWith(folder)));
}

/** Where a fault is in the order of a seed. It depends on the fault alone, so that a change elsewhere draws no others. */
export function rankOf(seed: number, name: string): string {
  return createHash('sha256').update(`${seed} ${name}`).digest('hex');
}
