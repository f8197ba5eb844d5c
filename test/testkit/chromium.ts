import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Chromium of this machine: CHROMIUM_PATH, or by its usual names. */
export const chromiumPath =
  process.env['CHROMIUM_PATH'] ||
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find(isExecutable);

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath!,
    args: ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

/** What a page does besides showing itself. */
export interface Watched {
  readonly page: Page;
  /** The origins that it asked for something. */
  readonly origins: Set<string>;
  /** What it could not do, such as what its policy forbids. */
  readonly problems: string[];
}

/** A page in a browser profile of its own. */
export async function openPage(browser: Browser): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  const origins = new Set<string>();
  const problems: string[] = [];
  context.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (!['data:', 'blob:'].includes(protocol)) origins.add(origin);
  });
  page.on('websocket', (socket) => origins.add(new URL(socket.url()).origin));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  return { page, origins, problems };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
