// What the recipes do to a run, by name. Each subject has a file of its own.
import type { World } from '../play/world.ts';
import { answersEffects } from './answers.ts';
import { crashesEffects } from './crashes.ts';
import { linesEffects } from './lines.ts';
import { LiveFault } from './live-fault.ts';
import type { PlacedFault } from './placed.ts';
import type { Recipe } from './recipes/recipe.ts';
import { serversEffects } from './servers.ts';

const effects = { ...crashesEffects, ...linesEffects, ...answersEffects, ...serversEffects };

export type EffectName = keyof typeof effects;

export function liveFault(placed: PlacedFault, recipe: Recipe, world: World): LiveFault {
  return new LiveFault(placed, recipe, world, effects[recipe.effect]);
}
