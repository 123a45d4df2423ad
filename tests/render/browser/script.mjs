// node script.mjs CHROMIUM NODE_MODULES FILE: does with a page what its script offers, and prints what came of it.
import path from 'node:path';
import { createRequire } from 'node:module';

const [executablePath, modules, file] = process.argv.slice(2);
const { chromium } = createRequire(path.resolve(modules) + '/')('playwright-core');
const browser = await chromium.launch({ executablePath, headless: true, args: ['--no-sandbox', '--disable-gpu'] });
const context = await browser.newContext({ offline: true, viewport: { width: 1280, height: 600 }, reducedMotion: 'reduce' });
const page = await context.newPage();
const told = {};
page.on('pageerror', (error) => { told.error = error.message; });
await page.goto('file://' + path.resolve(file));

const column = (place) => page.$$eval('#ranks tbody tr:not([hidden])', (rows, at) => rows.map((row) => row.cells[at].textContent), place);
const sort = (place) => page.click(`#ranks thead th:nth-child(${place}) button`);
await sort(2);
told.up = (await column(1)).slice(0, 4);
await sort(2);
told.down = (await column(1)).slice(0, 4);
told.last = (await column(1)).at(-1);
told.sorted = await page.$$eval('#ranks thead th', (heads) => heads.map((head) => head.getAttribute('aria-sort')));
await page.fill('#ranks input', 'F1');
told.filtered = await column(0);
told.count = await page.textContent('#ranks [role=status]');
await page.fill('#ranks input', '');
await page.click('#ranks .tools button:text("loss")');
told.shown = await page.$$eval('#ranks thead th', (heads) => heads.filter((head) => !head.hidden).map((head) => head.textContent));
await page.click('#ranks .tools button:text("all")');
told.again = (await page.$$('#ranks thead th:not([hidden])')).length;

told.closed = await page.$eval('#inside', (element) => element.checkVisibility());
await page.evaluate(() => { location.hash = 'inside'; });
await page.waitForTimeout(100);
told.revealed = await page.$eval('#inside', (element) => element.checkVisibility());
await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
await page.waitForTimeout(100);
told.current = await page.$$eval('.contents [aria-current]', (links) => links.map((link) => link.textContent));
await page.click('.contents button');
told.open = await page.$$eval('details', (folds) => folds.map((fold) => fold.open));
const figure = await page.$('svg[data-axes]');
await figure.scrollIntoViewIfNeeded();
const frame = await figure.boundingBox();
await page.mouse.move(frame.x + frame.width / 2, frame.y + frame.height / 4);
told.read = await page.textContent('.readout');
console.log(JSON.stringify(told));
await browser.close();
