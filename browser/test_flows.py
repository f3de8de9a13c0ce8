"""What people do in a browser, with scripts on and off."""
import re

import pytest
from playwright.sync_api import expect

from conftest import sign_in


def open_menu(page):
    page.get_by_role("button", name="User menu").click()


def test_sign_in_and_out(visit, base_url):
    visit.goto(base_url + "/")
    visit.get_by_role("link", name="Sign in").click()
    visit.get_by_label("Username or email").fill("ada")
    visit.get_by_label("Password").fill("wrong")
    visit.get_by_role("button", name="Sign in").click()
    expect(visit.get_by_role("alert")).to_be_visible()
    # A refused form is answered 422, which Chromium reports on the console.
    visit.problems.clear()
    sign_in(visit, base_url)
    open_menu(visit)
    expect(visit.get_by_text("@ada")).to_be_visible()
    visit.get_by_role("button", name="Sign out").click()
    visit.goto(base_url + "/")
    expect(visit.get_by_role("link", name="Sign in")).to_be_visible()


def test_signing_in_leads_back(visit, base_url):
    visit.goto(base_url + "/profile")
    expect(visit).to_have_url(re.compile("/sign_in"))
    visit.get_by_label("Username or email").fill("ada")
    visit.get_by_label("Password").fill("correct horse battery staple 9")
    visit.get_by_role("button", name="Sign in").click()
    expect(visit).to_have_url(base_url + "/profile")


def test_browse_code(visit, base_url, world):
    visit.goto(base_url + "/projects")
    visit.get_by_role("link", name=re.compile("tide", re.I)).first.click()
    expect(visit.get_by_text("Measures the tide").first).to_be_visible()
    visit.get_by_role("link", name="src", exact=True).first.click()
    visit.get_by_role("link", name="main.rs", exact=True).first.click()
    expect(visit.get_by_role("main")).to_contain_text("println!")
    expect(visit).to_have_url(re.compile("/blob/main/src/main.rs$"))


def test_sessions(signed_in, base_url):
    open_menu(signed_in)
    signed_in.get_by_role("link", name="Sessions").click()
    expect(signed_in.get_by_role("heading", name="Sessions")).to_be_visible()
    expect(signed_in.get_by_text("this session")).to_be_visible()
    others = signed_in.get_by_role("button", name="Sign out all others")
    if others.count():
        others.click()
        expect(signed_in.get_by_role("status").first).to_be_visible()
    expect(signed_in.get_by_role("main").get_by_role("row")).to_have_count(2)


def test_profile(signed_in, base_url):
    signed_in.goto(base_url + "/profile")
    signed_in.get_by_label("Location").fill("Woods Hole")
    signed_in.get_by_role("button", name="Save").first.click()
    expect(signed_in.get_by_role("status").first).to_be_visible()
    expect(signed_in.get_by_label("Location")).to_have_value("Woods Hole")
