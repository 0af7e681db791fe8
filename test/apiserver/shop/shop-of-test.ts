// Shops that end with the test that opened them. Apart from the shop itself, because a program without tests opens one as well.
import { onTestFinished } from 'vitest';
import { openShop, type Shop, type ShopOptions } from './widgets.ts';

export async function startShop(options: ShopOptions = {}): Promise<Shop> {
  return endsWithTest(await openShop(options));
}

export function endsWithTest(shop: Shop): Shop {
  onTestFinished(() => shop.stop());
  return shop;
}
