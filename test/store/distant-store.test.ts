import { storeContract } from '../contract/store/store.ts';
import { DistantStore, distantNumbering } from './distant-store.ts';

storeContract('a store over a distant log', (settings) => new DistantStore(settings), {
  modelRuns: 100,
  numbering: distantNumbering,
  elsewhere: (store, key, value) => (store as DistantStore).elsewhere(key, value),
  lose: (store, key, value) => (store as DistantStore).miss(key, value),
});
