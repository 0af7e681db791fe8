// The fault classes F1 to F50 as recipes, in the order of their numbers. A class that no run of this rig can make happen is in `elsewhere`, with the
// suite that has it.
import { answerRecipes } from './answers.ts';
import { connectionRecipes } from './connections.ts';
import { crashRecipes } from './crashes.ts';
import { lifeRecipes } from './lives.ts';
import { readRecipes } from './reads.ts';
import type { Recipe } from './recipe.ts';
import { serverRecipes } from './servers.ts';

export const recipes: readonly Recipe[] = [
  ...crashRecipes,
  ...readRecipes,
  ...answerRecipes,
  ...connectionRecipes,
  ...serverRecipes,
  ...lifeRecipes,
];

/** Classes that are acts of people here, and those that another suite holds. */
export const elsewhere: Readonly<Record<string, string>> = {
  F34: 'does not apply: the daemon speaks no HTTP/2',
  F43: 'traffic: acts in every order',
  F44: 'traffic: reload, also while a write is on its way (delay, hang)',
  F45: 'traffic: values that make an expression throw; test/expression/hostile.test.ts has the rest',
  F46: 'test/launcher/closed-process.test.ts has a closed output; test/store/full-disk.test.ts',
  F47: 'traffic: damage of each mark',
  F49: 'does not apply: the daemon does not ask the host to mirror',
};
