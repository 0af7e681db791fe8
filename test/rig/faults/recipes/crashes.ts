// Processes that die between two requests: F1 to F6.
import { everything, type Recipe, requests, writes } from './recipe.ts';

export const crashRecipes: readonly Recipe[] = [
  { class: 'F1', name: 'crash before a write', effect: 'killBefore', verbs: everything, boundMs: 20_000 },
  { class: 'F2', name: 'crash after a write was sent', effect: 'killSent', verbs: requests, boundMs: 20_000 },
  { class: 'F3', name: 'crash after the answer', effect: 'killAnswered', verbs: requests, boundMs: 20_000 },
  { class: 'F4', name: 'crash between two writes', effect: 'killNext', verbs: writes, boundMs: 20_000 },
  { class: 'F5', name: 'crash within the pages of a list', effect: 'killPage', verbs: ['list'], boundMs: 20_000 },
  {
    class: 'F6',
    name: 'crash loop',
    effect: 'crashLoop',
    verbs: everything,
    times: [3, 6],
    size: [7, 12, 20],
    boundMs: 20_000,
  },
];
