// Whether the suites notice enough: 95 of a hundred faults, and of each other one somebody has written down why it may live.
import { type MutatedRoom, rooms } from './mutant.ts';

export interface Met {
  name: string;
  room: MutatedRoom;
  /** Which suite noticed it; undefined when none did. */
  by?: string | undefined;
  /** What a time limit ended without any assertion having seen the fault. It counts as living: a busy machine ends sound suites too. */
  late?: string;
  /** Of what was played: the file with the fault, and the suite that noticed it. */
  played?: string;
  seconds: number;
}

const wantedShare = 0.95;

export function verdictOf(
  met: readonly Met[],
  { survivors, unplayed }: { survivors: readonly { name: string; reason: string }[]; unplayed: number },
): { isGood: boolean; sentences: string[] } {
  const reasons = new Map(survivors.map(({ name, reason }) => [name, reason]));
  const living = met.filter(({ by }) => by === undefined);
  const noticed = met.length - living.length;
  const sentences = living.map(({ name, late }) => `lives: ${name}: ${reasons.get(name) ?? unlooked(late)}`);
  for (const room of rooms) {
    const own = met.filter((one) => one.room === room);
    if (own.length > 0)
      sentences.push(`${room}: ${own.filter(({ by }) => by !== undefined).length} of ${own.length} noticed`);
  }
  const share = met.length === 0 ? 0 : noticed / met.length;
  const rest = unplayed > 0 ? `; ${unplayed} were not tried yet` : '';
  const percent = (share * 100).toFixed(1);
  sentences.push(`${met.length} of ${met.length + unplayed} faults played, ${noticed} noticed, ${percent} %${rest}`);
  return { isGood: share >= wantedShare && living.every(({ name }) => reasons.has(name)), sentences };
}

function unlooked(late: string | undefined): string {
  return late === undefined
    ? 'nobody has looked at it'
    : `only a time limit ended it (${late}), nobody has looked at it`;
}
