// The script of the playground page: takes the token out of the address, fetches the examples, and draws the page.
import { h, render } from 'preact';
import { takeToken } from './playground/address.ts';
import { App } from './playground/app.ts';
import type { Example } from './playground/texts.ts';

const place = document.getElementById('playground') as HTMLElement;
const { styleNonce = '', tokenPlace = '', examples: examplesPath = '' } = place.dataset;
// First, so that the token is never in a history entry or a screenshot.
const token = takeToken();
const examples = (await (await fetch(examplesPath)).json()) as readonly Example[];
place.replaceChildren();
render(h(App, { token, styleNonce, tokenPlace, examples }), place);
