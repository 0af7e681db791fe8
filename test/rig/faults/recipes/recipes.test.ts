// Every class of faults that the list of the rig has is a recipe here or is named with the suite that holds it, and what a class does not strike has a reason.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { rigSides } from '../../stage/rig-cluster.ts';
import { faultVerbs } from '../placed.ts';
import { elsewhere, recipes } from './recipes.ts';

const listed = Array.from({ length: 50 }, (_, nth) => `F${nth + 1}`);
const played = new Set(recipes.map((one) => one.class));
/** The daemon has its lease on the host alone. */
const cells = rigSides.flatMap((side) =>
  faultVerbs.filter((verb) => side === 'host' || verb !== 'lease').map((verb) => `${side} ${verb}`),
);
const struck = (name: string): Set<string> =>
  new Set(
    recipes
      .filter((one) => one.class === name)
      .flatMap(({ sides = rigSides, verbs }) => sides.flatMap((side) => verbs.map((verb) => `${side} ${verb}`))),
  );

/** Why a class strikes these verbs alone, on both sides where it does not name one. */
const reasons: Readonly<Record<string, readonly [cells: string, why: string]>> = {
  F2: ['list create update delete lease', 'a watch has no answer that ends'],
  F3: ['list create update delete lease', 'a watch has no answer that ends'],
  F4: ['create update delete', 'it is about two writes'],
  F5: ['list', 'it is about pages'],
  F7: ['list', 'it is about what a list shows'],
  F8: ['watch', 'it is about what a watch shows'],
  F9: ['list', 'it is about what a list shows'],
  F10: ['watch', 'it is about events'],
  F11: ['watch', 'it is about events'],
  F12: ['watch', 'it is about events'],
  F13: ['watch', 'it is about events'],
  F15: ['watch', 'it is about bookmarks'],
  F16: ['list watch', 'a write is at no revision of the past'],
  F17: ['watch', 'it is about a stream'],
  F20: ['create update delete lease', 'a read meets no conflict'],
  F21: ['create update delete', 'what is read is not judged by admission'],
  F29: ['list create update delete lease', 'a watch that is silent is F28'],
  F31: ['watch', 'it is about lines'],
  F33: ['list', 'it is about what a list shows'],
  F40: ['host lease', 'it is about the lease'],
  F41: ['host lease', 'it is about the lease'],
  F42: ['host update', 'people edit what the daemon then repairs'],
};

it('each class from F1 to F50 has a recipe, or a reason why another suite has it', () => {
  expect(listed.filter((name) => !played.has(name) && elsewhere[name] === undefined)).toEqual([]);
  expect([...played].filter((name) => !listed.includes(name) || elsewhere[name] !== undefined)).toEqual([]);
  for (const file of Object.values(elsewhere).flatMap((text) => text.match(/test\/\S+\.ts/g) ?? []))
    expect([file, existsSync(fileURLToPath(new URL(`../../../../${file}`, import.meta.url)))]).toEqual([file, true]);
});

it.each([...played])('%s strikes both sides and each verb, but for those that have a reason', (name) => {
  const [words] = reasons[name] ?? [faultVerbs.join(' ')];
  const [side, verbs] = /^(virtual|host) (.*)/.exec(words)?.slice(1) ?? [undefined, words];
  const wanted = cells.filter((cell) => {
    const [of, verb = ''] = cell.split(' ');
    return (side === undefined || side === of) && (verbs as string).split(' ').includes(verb);
  });
  expect([...struck(name)].filter((cell) => cells.includes(cell)).sort()).toEqual(wanted.sort());
});
