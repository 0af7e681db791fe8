// The faults of a run: those that were chosen, and of each room as many that the rules make, drawn by a seed.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chosen } from './chosen.ts';
import { folders, type Mutant, rankOf, rooms } from './mutant.ts';
import { faultsOf } from './rules.ts';

/** All that the rules make of each room. Every file is read once, which takes seconds. */
export function faultsByRule(root: string): Mutant[][] {
  return rooms.map((room) =>
    folders[room].flatMap((folder) =>
      filesIn(root, folder).flatMap((file) => faultsOf(file, readFileSync(join(root, file), 'utf8'), room)),
    ),
  );
}

export function drawn(
  faults: readonly (readonly Mutant[])[],
  { seed, each }: { seed: number; each: number },
): Mutant[] {
  const byRule = faults.flatMap((ofRoom) => {
    const ranked = ofRoom.map((mutant) => ({ mutant, rank: rankOf(seed, mutant.name) }));
    return ranked
      .sort((one, other) => (one.rank < other.rank ? -1 : 1))
      .slice(0, each)
      .map(({ mutant }) => mutant);
  });
  return [...chosen, ...byRule];
}

function filesIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `${folder}${file}`)
    .sort();
}
