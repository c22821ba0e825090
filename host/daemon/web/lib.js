// What the views are written with: preact, its hooks, and templates that need no build step.
import { h } from './vendor/preact.js';
import htm from './vendor/htm.js';

export { Component, Fragment, render } from './vendor/preact.js';
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from './vendor/hooks.js';
// A text in a template stays a text: nothing here is ever read as HTML.
export const html = htm.bind(h);
